/** An installation on a volume that outlives its pod: later pods use it again, and several may start at the same time. */
import { constants } from 'node:fs'
import { access, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { isObject } from '../core/json.ts'
import type { Release } from '../core/packages/install.ts'
import { checkPython } from '../core/packages/pypi.ts'
import type { Start } from './install.ts'

/** The content of `start.json`: the start command, and what is needed to compare the package with the records again. */
export type KeptPackage = Start & { platform: string; release: Release }

const PREFIX = 'package-'
/** Longer than an installation can take: an older folder was left behind by an installer that was killed, or cannot be used here. */
const INCOMPLETE_AFTER_MS = 60 * 60_000

/** Each pod has its own folder, so that two pods never write into the same one. A restarted container uses the same folder again. */
export function folderOf(pod: string): string {
  return `${PREFIX}${pod}`
}

/** Undefined if there is no complete installation that this machine can start. All arguments of the start command are files. */
export async function readKept(startFile: string): Promise<KeptPackage | undefined> {
  try {
    const kept = await readNamed(startFile)
    if (kept?.platform !== platform()) return undefined
    for (const program of programsOf(kept)) await access(program, constants.X_OK)
    if (kept.release.variant !== undefined) await checkPython(dirname(kept.command))
    for (const file of kept.args) await access(file, constants.R_OK)
    return kept
  } catch {
    return undefined
  }
}

/** What the start file names, whether or not this machine can start it. Throws if the file is missing or not JSON. */
async function readNamed(startFile: string): Promise<KeptPackage | undefined> {
  const kept: unknown = JSON.parse(await readFile(startFile, 'utf8'))
  return isKept(kept) ? kept : undefined
}

/** Writes atomically: readers see the previous content or the new content, never a part of it. */
export async function writeKept(
  startFile: string,
  pod: string,
  start: Start,
  release: Release,
): Promise<void> {
  const temporary = `${startFile}.${pod}`
  await writeFile(
    temporary,
    JSON.stringify({ ...start, platform: platform(), release } satisfies KeptPackage),
  )
  await rename(temporary, startFile)
}

/** Removes old folders of other pods, but not the one that the start file names for another platform, whose pods may run what is in it. */
export async function removeIncomplete(startFile: string, pod: string, now: number): Promise<void> {
  const folder = dirname(startFile)
  const named = await readNamed(startFile).catch(() => undefined)
  // One of this platform is known to be unusable. Sparing it too would need room for two installations.
  const files = named && named.platform !== platform() ? [named.command, ...named.args] : []
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (!name.startsWith(PREFIX) || name === folderOf(pod)) continue
    if (files.some(file => file.startsWith(path + sep))) continue
    const modified = await modifiedAt(path)
    if (now - modified > INCOMPLETE_AFTER_MS) await rm(path, { recursive: true, force: true })
  }
}

/** NaN if another pod has removed the folder. */
async function modifiedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return Number.NaN
  }
}

/** The command and, for a console script, its Python: a symbolic link, which is broken if the image no longer contains this Python. */
function programsOf({ command, release }: KeptPackage): string[] {
  return release.variant === undefined ? [command] : [command, join(dirname(command), 'python')]
}

function platform(): string {
  return `${process.platform}-${process.arch}`
}

function isKept(value: unknown): value is KeptPackage {
  if (!isObject(value) || !isObject(value.release)) return false
  const { command, args, platform, release } = value
  const { version, variant, integrity } = release
  const texts = [variant, integrity].filter(text => text !== undefined)
  return (
    [command, platform, version, ...texts].every(text => typeof text === 'string') &&
    Array.isArray(args) &&
    args.every(argument => typeof argument === 'string')
  )
}
