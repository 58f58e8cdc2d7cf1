/** Downloads a wheel with pip or uv, whichever is installed, so that their configured indexes, proxies and certificates apply. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../async.ts'
import { Fault, messageOf } from '../errors.ts'
import { type RunOptions, run } from '../packages/run.ts'

const PIPS = [['pip3'], ['pip'], ['python3', '-m', 'pip'], ['python', '-m', 'pip']] as const
/** Long enough for a slow connection; the user sees the progress meanwhile. */
const LIMIT_MS = 60 * 60_000
/** How often the size on disk is reported. */
const REPORT_MS = 500

export type WheelOf = {
  /** For pip: `name==version`. */
  requirement: string
  /** The folder in the unpacked wheel that contains the model. */
  folder: string
}

export type PackageOptions = Omit<RunOptions, 'limitMs'> & {
  clock: Clock
  /** Called with the program that is running and the bytes on disk so far (with uv, these are unpacked). */
  onProgress: (by: 'pip' | 'uv', bytes: number) => void
}

/**
 * Resolves with the path of the wheel (pip) or of the wanted folder of the unpacked wheel (uv), below `folder`, which must exist and
 * be empty. Throws Fault `io` (details.reason PackageManagerMissing if there is neither pip nor uv) or `cancelled`.
 */
export async function downloadPackage(
  wheel: WheelOf,
  folder: string,
  options: PackageOptions,
): Promise<string> {
  const failures: string[] = []
  for (const [by, commands, fetch] of [
    ['pip', PIPS, byPip],
    ['uv', [['uv']], byUv],
  ] as const) {
    const command = await firstThatRuns(commands, options)
    if (!command) continue
    try {
      return await watched(by, folder, options, () => fetch(command, wheel, folder, options))
    } catch (error) {
      if (error instanceof Fault && error.code === 'cancelled') throw error
      failures.push(messageOf(error))
    }
  }
  if (failures.length > 0) throw new Fault('io', failures.join('\n'))
  throw new Fault('io', 'Neither pip nor uv was found on the PATH.', {
    details: { reason: 'PackageManagerMissing' },
  })
}

async function firstThatRuns(commands: readonly (readonly string[])[], options: RunOptions) {
  for (const [command = '', ...args] of commands) {
    const runs = await run(command, [...args, '--version'], options).then(
      () => true,
      () => false,
    )
    if (options.signal.aborted) throw new Fault('cancelled', 'The download was stopped.')
    if (runs) return [command, ...args]
  }
  return undefined
}

/** Downloads with pip. Accepts wheels only, because a source distribution would run code of the package. */
async function byPip(
  [command = '', ...args]: readonly string[],
  { requirement }: WheelOf,
  folder: string,
  options: RunOptions,
): Promise<string> {
  const env = {
    PIP_RESUME_RETRIES: '5',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    ...options.env,
    PIP_REQUIRE_VIRTUALENV: '0',
    TMPDIR: folder,
  }
  const wheels = ['--no-deps', '--only-binary', ':all:', '--dest', folder]
  await run(
    command,
    [...args, 'download', '--no-input', '--progress-bar', 'off', ...wheels, '--', requirement],
    { ...options, env, limitMs: LIMIT_MS },
  )
  const wheel = (await readdir(folder)).find(name => name.endsWith('.whl'))
  if (wheel === undefined) throw new Fault('io', `pip downloaded no wheel of ${requirement}.`)
  return join(folder, wheel)
}

/** uv has no download command: it installs into `folder`, with its cache there, too, so that both are deleted together. */
async function byUv(
  [command = '']: readonly string[],
  { requirement, folder: inside }: WheelOf,
  folder: string,
  options: RunOptions,
): Promise<string> {
  const [target, cache] = [join(folder, 'uv'), join(folder, 'uv-cache')]
  const wheels = ['--no-deps', '--only-binary', ':all:', '--target', target, '--cache-dir', cache]
  await run(command, ['pip', 'install', '--no-progress', ...wheels, '--', requirement], {
    ...options,
    limitMs: LIMIT_MS,
  })
  return join(target, inside)
}

/** Reports the size of the folder while `work` is running. */
async function watched<T>(
  by: 'pip' | 'uv',
  folder: string,
  { clock, onProgress }: PackageOptions,
  work: () => Promise<T>,
): Promise<T> {
  let timer = clock.after(0, report)
  let ended = false
  async function report() {
    const bytes = await bytesIn(folder)
    if (ended) return
    onProgress(by, bytes)
    timer = clock.after(REPORT_MS, report)
  }
  try {
    return await work()
  } finally {
    ended = true
    timer.cancel()
  }
}

/** The size of all files; files that disappear meanwhile count as 0. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const sizes = await Promise.all(
    files.map(file =>
      stat(file).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
