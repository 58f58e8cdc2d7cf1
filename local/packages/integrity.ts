/** Stores the integrity of each package version at its first installation, and refuses the version if its content has changed later. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../core/json.ts'
import type { PackageSource, Release } from '../../core/packages/install.ts'
import { type ChangedPackage, idOf, integrityChanged, type PackageId } from '../../core/packages/integrity.ts'
import { replaceFile } from '../../core/replace-file.ts'

/** Throws Fault `io` (details.reason IntegrityChanged) if the same version was installed with another integrity; else stores it, if it is known. */
export type Compare = (source: PackageSource, release: Release) => Promise<void>

/** A version whose content differs from that of its first installation. */
export type ChangedHere = ChangedPackage & {
  /** Replaces the stored integrity by that of the refused content. */
  approve(): Promise<void>
}

/** How many records of one package `changedPackages` reads. */
const MAX_FILES = 1_000

/** The records are stored separately from the installations, so that a repeated installation is compared too. */
export function createIntegrityRecords(cacheFolder: string): Compare {
  const folder = folderOf(cacheFolder)
  return async (source, release) => {
    const id = idOf(source, release, process)
    const file = join(folder, fileName(id))
    const known = await read(file)
    const { kind, package: name, version } = id
    const { integrity } = release
    const keep = (kept: StoredRecord) =>
      replaceFile(file, JSON.stringify({ kind, package: name, version, ...kept }))
    if (known === 'damaged')
      throw integrityChanged(id, {
        found: integrity,
        known: 'not readable',
        where: 'here',
        remedy: `delete ${file} and try again`,
      })
    if (integrity === undefined) {
      if (!known) return
      throw integrityChanged(id, {
        found: undefined,
        known: known.integrity,
        where: 'here',
        remedy: `delete ${file} and try again`,
      })
    }
    if (known && known.integrity !== integrity) {
      await keep({ integrity: known.integrity, found: integrity })
      throw integrityChanged(id, {
        found: integrity,
        known: known.integrity,
        where: 'here',
        remedy: `approve it: portolan approve ${name} --digest "${integrity}"`,
      })
    }
    if (!known || known.found !== undefined) await keep({ integrity })
  }
}

/** The versions of a package that were refused on this machine because their content had changed. */
export async function changedPackages(cacheFolder: string, name: string): Promise<ChangedHere[]> {
  const folder = folderOf(cacheFolder)
  const begins = (['npm', 'pypi'] as const).map(kind => readableName({ kind, package: name, version: '' }))
  const names = (await readdir(folder).catch(() => [])).filter(
    file => file.endsWith('.json') && begins.some(begin => file.startsWith(begin)),
  )
  const found = await Promise.all(
    names.slice(0, MAX_FILES).map(async file => {
      const kept = await read(join(folder, file))
      if (!kept || kept === 'damaged' || kept.package !== name || kept.found === undefined) return []
      const { kind, version, integrity: known, found } = kept
      return {
        what: `${name} ${version} of ${kind === 'npm' ? 'npm' : 'PyPI'}`,
        known,
        found,
        approve: () =>
          replaceFile(join(folder, file), JSON.stringify({ kind, package: name, version, integrity: found })),
      }
    }),
  )
  return found.flat()
}

function folderOf(cacheFolder: string): string {
  return join(cacheFolder, 'integrity')
}

function fileName(id: PackageId): string {
  const { package: name, version, platform = '' } = id
  const exact = createHash('sha256')
    .update(JSON.stringify([name, version, platform]))
    .digest('hex')
  return `${readableName(id)}-${exact.slice(0, 8)}.json`
}

/** The beginning of the names of a package's files, if the version is empty. */
function readableName({ kind, package: name, version }: PackageId): string {
  return `${kind}-${name.replaceAll('/', '+')}@${version}`.replace(/[^\w.@+-]/g, '_').slice(0, 180)
}

/** The content of a file. `found`: the integrity that was refused last. */
type StoredRecord = {
  kind?: unknown
  package?: unknown
  version?: unknown
  integrity: string
  found?: string
}

/** The stored record; undefined if there is none. A damaged one, or one that cannot be read, makes every comparison fail, until the user deletes its file. */
async function read(file: string): Promise<StoredRecord | 'damaged' | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isObject(value) || typeof value.integrity !== 'string') return 'damaged'
    const { kind, package: name, version, integrity, found } = value
    return { kind, package: name, version, integrity, ...(typeof found === 'string' && { found }) }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : 'damaged'
  }
}
