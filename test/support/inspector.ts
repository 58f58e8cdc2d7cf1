/** Runs the MCP inspector's command line, a client that is not ours; its packages are installed on first need. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'clients')
const entry = join(
  folder,
  'node_modules',
  '@modelcontextprotocol',
  'inspector',
  'clients',
  'launcher',
  'build',
  'index.js',
)

export type InspectorEra = 'legacy' | 'auto' | 'modern'

/** Exit code and output of `inspector --cli URL …`. */
export async function inspect(
  url: string,
  era: InspectorEra,
  args: string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  if (!existsSync(entry))
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  return run(process.execPath, [entry, '--cli', url, '--transport', 'http', '--protocol-era', era, ...args])
}

function run(command: string, args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', chunk => {
      stdout += chunk
    })
    child.stderr.on('data', chunk => {
      stderr += chunk
    })
    child.on('error', reject)
    child.on('close', code => resolve({ code: code ?? 1, stdout, stderr }))
  })
}
