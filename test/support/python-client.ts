/** A Python environment with a package from PyPI, in the cache folder. Created when first needed, with uv or Python's venv. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock } from '../../core/async.ts'
import { cacheFolder } from '../../local/config.ts'
import { withLock } from '../../local/packages/folder-lock.ts'
import { run } from './run.ts'

/**
 * Returns the path of the Python executable; `requirement` is for example `mcp==2.3.0`. If the machine has neither uv nor Python with
 * venv, prints a warning and returns undefined; on CI, throws.
 */
export async function pythonWith(requirement: string): Promise<string | undefined> {
  const home = pythonHome(requirement)
  const python = join(home, 'bin', 'python')
  if (existsSync(python)) return python
  mkdirSync(dirname(home), { recursive: true })
  const { signal } = new AbortController()
  const failed = await withLock(`${home}.lock`, () => make(home, requirement), { clock: systemClock, signal })
  if (failed === undefined) return python
  if (process.env.CI) throw new Error(`${requirement} is required on CI: ${failed}`)
  process.stderr.write(`\n!!! ${requirement} could not be installed: its client was NOT tested. ${failed}\n`)
  return undefined
}

/** The folder of the environment with this package, whether it exists or not. */
export function pythonHome(requirement: string): string {
  return join(cacheFolder(process.env), 'python-clients', requirement.replaceAll(/[^\w.-]/g, '_'))
}

/** Creates the environment if it is missing. Returns undefined if it exists now, otherwise the error. */
async function make(home: string, requirement: string): Promise<string | undefined> {
  if (existsSync(join(home, 'bin', 'python'))) return undefined
  const unfinished = `${home}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  const python = join(unfinished, 'bin', 'python')
  const ways = [
    [
      ['uv', 'venv', '--quiet', unfinished],
      ['uv', 'pip', 'install', '--quiet', '--python', python, requirement],
    ],
    [
      ['python3', '-m', 'venv', unfinished],
      [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement],
    ],
  ]
  let failed = ''
  for (const way of ways) {
    failed = await runAll(way)
    if (failed !== '') continue
    // The folder can be renamed because only `bin/python -m` and imports are used, no scripts with absolute paths.
    renameSync(unfinished, home)
    return undefined
  }
  return failed
}

async function runAll(commands: string[][]): Promise<string> {
  for (const [command = '', ...args] of commands) {
    const { code, stderr } = await run(command, args).catch(error => ({ code: 1, stderr: String(error) }))
    if (code !== 0) return `${command} ${args.join(' ')}: ${stderr.trim()}`
  }
  return ''
}
