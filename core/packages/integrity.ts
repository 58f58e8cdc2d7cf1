/** Records of the content of package versions at their first installation, and the error if that content has changed. Pure. */
import { Fault, messageOf } from '../errors.ts'
import { isObject } from '../json.ts'
import type { PackageSource, Release } from './install.ts'

/** The content of one version. `platform`: set for PyPI only, because wheels differ by platform and Python version. */
export type PackageRecord = {
  kind: 'npm' | 'pypi'
  package: string
  version: string
  platform?: string
  integrity: string
}

/** What is recorded once: a version, on a platform if the content depends on it. */
export type PackageId = Omit<PackageRecord, 'integrity'>

/** The records of earlier installations, as pods read them: at most one for each version and platform. */
export type KnownPackages = {
  records: readonly PackageRecord[]
  /** An integrity that somebody approved: it may replace the recorded one. */
  approved?: string
}

/** `what`: such as `greeter 1.0.0 of npm`. `known`: the recorded integrity. `found`: the integrity of the new content. */
export type ChangedPackage = { what: string; known: string; found: string }

/** Maximum number of characters of a name, a version or an integrity; longer values are not recorded. */
const MAX_TEXT = 512
const CHANGED =
  /(\S+ \S+ of (?:npm|PyPI)) has other content .*?: its integrity is (.+?), it was (.+?)\.(?: |$)/
const INTEGRITY = /^[a-z]\w*-[\w+/= -]+$/

/** `host`: `process`, or a replacement in tests. */
export function idOf(
  { kind, package: name }: PackageSource,
  { version, variant = '' }: Release,
  host: { platform: string; arch: string },
): PackageId {
  const platform = kind === 'pypi' ? { platform: `${host.platform}-${host.arch}-${variant}` } : {}
  return { kind, package: name, version, ...platform }
}

/** The record of the same version, on the same platform if the content depends on it. */
export function recorded(
  records: readonly PackageRecord[],
  { kind, package: name, version, platform }: PackageId,
): PackageRecord | undefined {
  return records.find(
    one => one.kind === kind && one.package === name && one.version === version && one.platform === platform,
  )
}

/** Undefined if the value is not a valid record, for example if a text in it is too long. */
export function readRecord(value: unknown): PackageRecord | undefined {
  if (!isObject(value)) return undefined
  const { kind, package: name, version, platform, integrity } = value
  if ((kind !== 'npm' && kind !== 'pypi') || !isText(name) || !isText(version)) return undefined
  if (!isIntegrity(integrity) || !(platform === undefined || isText(platform))) return undefined
  return { kind, package: name, version, ...(platform !== undefined && { platform }), integrity }
}

/** Reads the JSON of known packages. Throws Fault `invalid_data` if any record is damaged. */
export function parseKnown(text: string): KnownPackages {
  try {
    const known: unknown = JSON.parse(text)
    if (isObject(known) && Array.isArray(known.records)) {
      const records = known.records.map(readRecord)
      if (records.every(record => record !== undefined))
        return { records, ...(isIntegrity(known.approved) && { approved: known.approved }) }
    }
  } catch (cause) {
    throw new Fault('invalid_data', `it is not JSON: ${messageOf(cause)}`, { cause })
  }
  throw new Fault('invalid_data', 'it contains an invalid record')
}

/** Whether a value looks like an integrity, such as `sha512-…`. Digests of pinned tools, which are approved in the same way, do not. */
export function isIntegrity(value: unknown): value is string {
  return isText(value) && INTEGRITY.test(value)
}

/** Fault `io` with details.reason IntegrityChanged. `found`: undefined if the registry no longer tells it. `remedy` says how to accept the change. */
export function integrityChanged(
  { kind, package: name, version }: PackageId,
  change: { found: string | undefined; known: string; where: string; remedy: string },
): Fault {
  const { found = 'none', known, where, remedy } = change
  const registry = kind === 'npm' ? 'npm' : 'PyPI'
  return new Fault(
    'io',
    `${name} ${version} of ${registry} has other content than when it was first installed ${where}: its integrity is ${found}, it was ${known}. ` +
      'A published version does not change by itself: the registry, or a proxy or mirror in between, may not be trustworthy. ' +
      `Use another version, or ask the publisher; if the change is right, ${remedy}.`,
    { details: { reason: 'IntegrityChanged' } },
  )
}

/** Reads the package (`greeter 1.0.0 of npm`) and both integrities from a message of `integrityChanged`. Undefined for other texts. */
export function readIntegrityChanged(text: string): ChangedPackage | undefined {
  const [, what = '', found = '', known = ''] = CHANGED.exec(text) ?? []
  return isIntegrity(found) ? { what, found, known } : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT
}
