/** A Python with a package of PyPI, in the cache; made on first need by uv, or by Python itself. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { systemClock } from '../../core/async.ts'
import { cacheFolder } from '../../local/config.ts'
import { withLock } from '../../local/packages/folder-lock.ts'
import { run } from './run.ts'

/** `requirement` is as `mcp==2.3.0`. Undefined where this machine has neither uv nor a Python that can make environments, said loudly; on CI an error. */
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

/** Where the Python with this package is, or would be. */
export function pythonHome(requirement: string): string {
  return join(cacheFolder(process.env), 'python-clients', requirement.replaceAll(/[^\w.-]/g, '_'))
}

/** Undefined: it is there. */
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
    // only `bin/python -m` and imports are used: nothing in it needs the folder's name
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
