/** Runs the command line of the MCP inspector, a third-party client. */
import { type Ran, run } from './run.ts'
import { CLIENTS, clientFile } from './test-clients.ts'

/** The path of its entry file in the installed packages. */
export const INSPECTOR = ['@modelcontextprotocol', 'inspector', 'clients', 'launcher', 'build', 'index.js']

export type InspectorEra = 'legacy' | 'auto' | 'modern'

/** Returns the exit code and output of `inspector --cli URL …`. */
export async function inspect(url: string, era: InspectorEra, args: string[]): Promise<Ran> {
  const entry = await clientFile(...INSPECTOR)
  const options = ['--cli', url, '--transport', 'http', '--protocol-era', era, ...args]
  return run(process.execPath, [entry, ...options], { cwd: CLIENTS })
}
