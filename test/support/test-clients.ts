/** Third-party MCP clients for tests, from the lockfile of test/clients. They are installed when first needed. */
import { existsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../core/async.ts'
import { withLock } from '../../local/packages/folder-lock.ts'
import { run } from './run.ts'

export const CLIENTS = join(dirname(dirname(fileURLToPath(import.meta.url))), 'clients')
const INSTALLED = join(CLIENTS, 'node_modules', '.package-lock.json')
const INSTALL = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

/** The path of a file in the installed packages. Concurrent test files install only once. */
export async function clientFile(...path: string[]): Promise<string> {
  await installClients()
  return join(CLIENTS, 'node_modules', ...path)
}

/** Installs the packages if they are missing. Throws with npm's error output. */
export async function installClients(): Promise<void> {
  if (clientsInstalled()) return
  const { signal } = new AbortController()
  const install = async () => {
    if (clientsInstalled()) return
    const { code, stderr } = await run('npm', INSTALL, { cwd: CLIENTS })
    if (code !== 0) throw new Error(`the packages of test/clients could not be installed: ${stderr}`)
  }
  await withLock(join(tmpdir(), 'portolan-test-clients.lock'), install, { clock: systemClock, signal })
}

/** npm writes its copy of the lockfile at the end of an installation. */
export function clientsInstalled(): boolean {
  if (!existsSync(INSTALLED)) return false
  return statSync(INSTALLED).mtimeMs >= statSync(join(CLIENTS, 'package-lock.json')).mtimeMs
}
