/** Runs the command line of the MCP inspector, a client by others. */
import { type Ran, run } from './run.ts'
import { CLIENTS, clientFile } from './test-clients.ts'

const ENTRY = ['@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js']

export type InspectorEra = 'legacy' | 'auto' | 'modern'

/** Returns the exit code and output of `inspector --cli URL …`. */
export async function inspect(url: string, era: InspectorEra, args: string[]): Promise<Ran> {
  const entry = await clientFile(...ENTRY)
  const options = ['--cli', url, '--transport', 'http', '--protocol-era', era, ...args]
  return run(process.execPath, [entry, ...options], { cwd: CLIENTS })
}
