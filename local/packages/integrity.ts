/** Remembers what a version of a package contained when it was first installed here, and refuses other content under that version. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { PackageSource, Release } from '../../core/packages/install.ts'
import { replaceFile } from '../../core/replace-file.ts'

/** Throws Fault `io` (details.reason IntegrityChanged) if the same version was installed with another integrity; else remembers it. */
export type Compare = (source: PackageSource, release: Release) => Promise<void>

/** The files outlive the installations, so that a new one is compared. Without an integrity nothing is compared. */
export function createIntegrityRecords(cacheFolder: string): Compare {
  const folder = join(cacheFolder, 'integrity')
  return async (source, release) => {
    const { version, integrity } = release
    if (integrity === undefined) return
    const file = join(folder, fileName(source, release))
    const known = await read(file)
    if (known === integrity) return
    if (known !== undefined) throw changed(source, release, known, file)
    await replaceFile(file, JSON.stringify({ package: source.package, version, integrity }))
  }
}

function changed(
  { kind, package: name }: PackageSource,
  { version, integrity }: Release,
  known: string,
  file: string,
): Fault {
  const registry = kind === 'npm' ? 'npm' : 'PyPI'
  return new Fault(
    'io',
    `${name} ${version} of ${registry} has other content than when it was first installed here: its integrity is ${integrity}, it was ${known}. ` +
      'A published version does not change by itself: the registry, or what stands between, may not be trustworthy. ' +
      `Use another version, or ask the publisher; if the change is right, delete ${file} and try again.`,
    { details: { reason: 'IntegrityChanged' } },
  )
}

/** Wheels differ by platform and Python, archives of npm do not. */
function fileName({ kind, package: name }: PackageSource, { version, variant = '' }: Release): string {
  const platform = kind === 'pypi' ? `${process.platform}-${process.arch}-${variant}` : ''
  const readable = `${kind}-${name.replaceAll('/', '+')}@${version}`.replace(/[^\w.@+-]/g, '_')
  const exact = createHash('sha256')
    .update(JSON.stringify([name, version, platform]))
    .digest('hex')
  return `${readable.slice(0, 180)}-${exact.slice(0, 8)}.json`
}

/** A damaged file equals no content: somebody has to look at it and delete it. */
async function read(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value) && typeof value.integrity === 'string') return value.integrity
  } catch {
    // not JSON
  }
  return 'not readable'
}
