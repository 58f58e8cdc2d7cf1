/** Reads the ConfigMaps that a gateway's `auth` refers to: key sets, certificates, revocations. Pure. */
import type { GatewayAuth } from '../../crds/access.ts'
import { REASON } from '../../crds/conditions.ts'
import type { Problem } from '../errors.ts'
import { isObject, type JsonObject, tryParseJson } from '../json.ts'
import { ownValue } from '../own-value.ts'
import type { Revocation } from './access-config.ts'
import type { ConfigMapValues } from './endpoint.ts'

export type AuthReferences = {
  /** By name of the issuer. */
  issuers: ReadonlyMap<string, { jwks?: JsonObject; ca?: string }>
  revoked: Revocation[]
  /** What is missing or cannot be read. The gateway is then refused: it would admit callers that it must not admit, or no callers. */
  problems: Problem[]
}

const MAX_REVOCATIONS = 10_000
/** How many unreadable lines are reported one by one. */
const MAX_REPORTED = 5
/** A date and time with a zone (RFC 3339): without one, it would mean another time on each machine. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** `configMaps`: the observed ones, by name. */
export function readAuthReferences(
  auth: GatewayAuth | undefined,
  configMaps: ConfigMapValues,
): AuthReferences {
  const problems: Problem[] = []
  const issuers = new Map<string, { jwks?: JsonObject; ca?: string }>()
  for (const [at, { name, keys, caBundle }] of (auth?.jwt ?? []).entries()) {
    const path = `spec.auth.jwt[${at}]`
    const jwks = readKey(keys?.configMapKeyRef, configMaps, `${path}.keys.configMapKeyRef`, problems)
    const ca = readKey(caBundle?.configMapKeyRef, configMaps, `${path}.caBundle.configMapKeyRef`, problems)
    issuers.set(name, {
      ...(jwks !== undefined && readKeySet(jwks, `${path}.keys.configMapKeyRef`, problems)),
      ...(ca !== undefined && { ca }),
    })
  }
  return { issuers, revoked: readRevoked(auth, configMaps, problems), problems }
}

type KeyRef = { name: string; key: string }

function readKey(
  ref: KeyRef | undefined,
  configMaps: ConfigMapValues,
  path: string,
  problems: Problem[],
): string | undefined {
  if (!ref) return undefined
  const value = ownValue(configMaps.get(ref.name), ref.key)
  if (value === undefined)
    problems.push(
      configMaps.has(ref.name)
        ? { reason: REASON.keyNotFound, path, message: `the ConfigMap "${ref.name}" has no key "${ref.key}"` }
        : { reason: REASON.configMapNotFound, path, message: `there is no ConfigMap "${ref.name}"` },
    )
  return value
}

/** Parses a JSON Web Key Set (RFC 7517, section 5). */
function readKeySet(text: string, path: string, problems: Problem[]): { jwks?: JsonObject } {
  const jwks = tryParseJson(text)
  if (isObject(jwks) && Array.isArray(jwks.keys)) return { jwks }
  problems.push({
    reason: REASON.invalid,
    path,
    message: 'is not a JSON Web Key Set, which looks like {"keys": […]}',
  })
  return {}
}

function readRevoked(
  auth: GatewayAuth | undefined,
  configMaps: ConfigMapValues,
  problems: Problem[],
): Revocation[] {
  if (!auth?.revoked) return []
  const { configMapName } = auth.revoked
  const path = 'spec.auth.revoked.configMapName'
  const data = configMaps.get(configMapName)
  if (!data) {
    problems.push({
      reason: REASON.configMapNotFound,
      path,
      message: `there is no ConfigMap "${configMapName}"`,
    })
    return []
  }
  const names = new Set(auth.jwt.map(({ name }) => name))
  const lines = Object.values(data).flatMap(text => text.split('\n').map(line => line.trim()))
  const entries = lines.filter(line => line !== '' && !line.startsWith('#'))
  const invalid = (message: string) => problems.push({ reason: REASON.invalid, path, message })
  if (entries.length > MAX_REVOCATIONS) invalid(`has more than ${MAX_REVOCATIONS} lines`)
  const revoked: Revocation[] = []
  const unreadable: string[] = []
  for (const line of entries.slice(0, MAX_REVOCATIONS)) {
    const found = readLine(line, names)
    if (found) revoked.push(found)
    else unreadable.push(line)
  }
  for (const line of unreadable.slice(0, MAX_REPORTED)) invalid(`cannot read "${line.slice(0, 80)}"; ${FORM}`)
  if (unreadable.length > MAX_REPORTED) invalid(`cannot read ${unreadable.length - MAX_REPORTED} more lines`)
  return revoked
}

const FORM =
  'write "sub SUBJECT", "jti ID" or "before 2026-01-31T12:00:00Z", optionally followed by the name of an issuer'

/** A line in the form that FORM describes; undefined for any other, also if it names an unknown issuer. */
function readLine(line: string, issuers: ReadonlySet<string>): Revocation | undefined {
  const [kind, value, issuer, ...more] = line.split(/\s+/)
  if (value === undefined || more.length > 0 || (issuer !== undefined && !issuers.has(issuer)))
    return undefined
  const only = issuer === undefined ? {} : { issuer }
  if (kind === 'sub') return { ...only, subject: value }
  if (kind === 'jti') return { ...only, jti: value }
  const beforeMs = kind === 'before' && DATE_TIME.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(beforeMs) ? undefined : { ...only, beforeMs }
}
