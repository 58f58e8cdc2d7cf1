/** Installs the package of a server into a volume, and writes its start command there. */
import { constants } from 'node:fs'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { Fault, messageOf } from '../core/errors.ts'
import { isObject } from '../core/json.ts'
import { installPackage, type PackageSource, type Release } from '../core/packages/install.ts'
import type { PackageRecord } from '../core/packages/integrity.ts'
import { npmCommand } from '../core/packages/npm.ts'
import { type Comparison, createComparison } from './integrity.ts'
import { folderOf, type KeptPackage, readKept, removeIncomplete, writeKept } from './kept-package.ts'

/** The command that starts an installed server, with absolute paths. */
export type Start = { command: string; args: string[] }

export type InstallIntoOptions = {
  source: PackageSource
  /** The registry or index; absent: the installer's own. */
  registry?: string
  /** File with the records of earlier installations; absent: the package is neither compared nor reported. */
  integrityFile?: string
  /** The folder in which the package and `start.json` are created. */
  into: string
  /** `into` outlives the pod: a complete installation there is used again. */
  keep: boolean
  env: Readonly<Record<string, string>>
  signal: AbortSignal
}

const START_FILE = 'start.json'
/** Leaves room for a prefix and a suffix: the names of files have at most 255 bytes. */
const MAX_POD_NAME = 200

export type InstalledInto = {
  version: string
  /** Undefined if the content was not compared, or its integrity is not known. */
  record?: PackageRecord
  /** Whether an earlier pod installed it. */
  isKept: boolean
}

/**
 * Installs the package, or uses the installation of an earlier pod. Throws the Faults of installPackage, and Fault `io` (details.reason
 * IntegrityChanged) if the version had different content before.
 */
export async function install(options: InstallIntoOptions): Promise<InstalledInto> {
  const folder = resolve(options.into)
  const startFile = join(folder, START_FILE)
  const comparison = comparisonOf(options)
  if (!options.keep) {
    const { start, release } = await installInto(join(folder, 'package'), options, comparison)
    await writeFile(startFile, JSON.stringify(start))
    return { version: release.version, record: comparison?.record(), isKept: false }
  }
  const kept = await readKept(startFile)
  if (kept) return useKept(kept, comparison)
  // HOSTNAME is the name of the pod, unless a manifest sets another value.
  const pod = (options.env.HOSTNAME || hostname()).replace(/[^\w.-]/g, '-').slice(0, MAX_POD_NAME)
  await removeIncomplete(startFile, pod, Date.now())
  const podFolder = join(folder, folderOf(pod))
  const { start, release } = await installInto(podFolder, options, comparison)
  const other = await readKept(startFile)
  if (other) {
    // Another pod that started at the same time has finished first.
    await rm(podFolder, { recursive: true, force: true })
    return useKept(other, comparisonOf(options))
  }
  await writeKept(startFile, pod, start, release)
  return { version: release.version, record: comparison?.record(), isKept: false }
}

function comparisonOf({ source, integrityFile }: InstallIntoOptions): Comparison | undefined {
  return integrityFile === undefined ? undefined : createComparison(source, integrityFile)
}

/** Uses the installation of an earlier pod, after its integrity was compared with the records, as for a new installation. */
async function useKept({ release }: KeptPackage, comparison: Comparison | undefined): Promise<InstalledInto> {
  await comparison?.verify(release)
  return { version: release.version, record: comparison?.record(), isKept: true }
}

/** `release` has the integrity of the package only with `keep`: a later pod compares it with the records again. */
async function installInto(
  folder: string,
  { source, registry, env, signal, keep }: InstallIntoOptions,
  comparison: Comparison | undefined,
): Promise<{ start: Start; release: Release }> {
  const cache = await mkdtemp(join(tmpdir(), 'portolan-install-'))
  let release: Release | undefined
  try {
    const { version, program } = await installPackage(source, folder, {
      env: { ...env, ...caches(cache) },
      registry,
      signal,
      verify: keep
        ? async found => {
            release = found
            await comparison?.verify(found)
          }
        : comparison?.verify,
    })
    const start: Start =
      source.kind === 'npm'
        ? await npmCommand(program, await pathOf('node', env.PATH ?? ''))
        : { command: program, args: [] }
    return { start, release: release ?? { version, integrity: undefined } }
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
}

/** Reads the start command of an installed server. Throws Fault `io` if the file is missing or invalid. */
export async function readStart(file: string): Promise<Start> {
  try {
    const start: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (isObject(start) && typeof start.command === 'string' && Array.isArray(start.args))
      return { command: start.command, args: start.args.map(String) }
  } catch (cause) {
    throw new Fault('io', `The file ${file} of the installation cannot be read: ${messageOf(cause)}`, {
      cause,
    })
  }
  throw new Fault('io', `The file ${file} has no start command`)
}

/** Temporary caches: the downloads are not needed after the installation. */
function caches(folder: string): Record<string, string> {
  return {
    npm_config_cache: join(folder, 'npm'),
    UV_CACHE_DIR: join(folder, 'uv'),
    PIP_CACHE_DIR: join(folder, 'pip'),
  }
}

/** Finds the absolute path of a program, because children do not inherit the PATH of this process. */
async function pathOf(name: string, path: string): Promise<string> {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name)
    if (
      folder !== '' &&
      (await access(file, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      return file
  }
  throw new Fault('io', `${name} was not found on the PATH.`, {
    details: { reason: 'PackageManagerMissing' },
  })
}
