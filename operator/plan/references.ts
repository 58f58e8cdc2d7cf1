/** Secrets and ConfigMaps that manifests name: their names, missing ones, and digests of their versions. Pure. */
import { createHash } from 'node:crypto'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import type { Reference } from './plan.ts'

export type ReferenceName = Pick<Reference, 'kind' | 'name'>

/** By kind and name. */
export type ReferenceIndex = ReadonlyMap<string, Reference>

/** A place in a manifest that names an object, or one key of it. */
type Use = ReferenceName & { key?: string; optional?: boolean; path: string }

const NOT_FOUND = { Secret: REASON.secretNotFound, ConfigMap: REASON.configMapNotFound } as const

/** Every Secret and ConfigMap that `env`, `envFrom`, `headers` and `auth` name, and the bearer Secret; each once, sorted. */
export function referencesOf(server: McpServer): ReferenceName[] {
  const bearer: ReferenceName[] = isBridged(server)
    ? [{ kind: 'Secret', name: serverObjectName(server.metadata.name) }]
    : []
  return unique([...usesOf(server), ...bearer])
}

/** What a gateway itself names, without its servers. */
export function gatewayReferences(gateway: McpGateway): ReferenceName[] {
  return unique([...gatewayUses(gateway), ...authConfigMaps(gateway)])
}

export function indexReferences(references: readonly Reference[]): ReferenceIndex {
  return new Map(references.map(reference => [`${reference.kind}/${reference.name}`, reference]))
}

/** Required references whose object or key is missing. */
export function missingReferences(server: McpServer, references: ReferenceIndex): Problem[] {
  return missingOf(usesOf(server), references)
}

/** Warnings only: without its key the embeddings service cannot be used, and without the tokens nobody is admitted by one. */
export function missingGatewayReferences(gateway: McpGateway, references: ReferenceIndex): Problem[] {
  return missingOf(gatewayUses(gateway), references)
}

/** Digest of everything a connection depends on: a new digest means a new connection. */
export function connectionInputs(server: McpServer, references: ReferenceIndex): string {
  return versionsDigest(referencesOf(server), references)
}

/** Digest of everything the environment of its pods depends on: a new digest means new pods. */
export function podInputs(server: McpServer, references: ReferenceIndex): string {
  return versionsDigest(unique(environmentUses(server)), references)
}

function gatewayUses({ spec }: McpGateway): Use[] {
  const secret = spec.search.embeddings?.secretRef
  const tokens = spec.auth?.tokens
  return [
    ...(secret ? [{ kind: 'Secret' as const, ...secret, path: 'spec.search.embeddings.secretRef' }] : []),
    ...(tokens
      ? [{ kind: 'Secret' as const, name: tokens.secretName, path: 'spec.auth.tokens.secretName' }]
      : []),
  ]
}

/** `resolve` reads them, and says what is missing. */
function authConfigMaps({ spec: { auth } }: McpGateway): ReferenceName[] {
  const refs =
    auth?.jwt.flatMap(({ keys, caBundle }) => [keys?.configMapKeyRef, caBundle?.configMapKeyRef]) ?? []
  const names = [...refs.map(ref => ref?.name), auth?.revoked?.configMapName]
  return names.flatMap(name => (name === undefined ? [] : [{ kind: 'ConfigMap' as const, name }]))
}

function usesOf(server: McpServer): Use[] {
  const { headers, auth } = server.spec
  const secret = auth?.oauth?.clientSecretRef
  return [
    ...environmentUses(server),
    ...headers.flatMap(({ valueFrom }, index) => keyUses(valueFrom, `spec.headers[${index}].valueFrom`)),
    ...(secret ? [{ kind: 'Secret' as const, ...secret, path: 'spec.auth.oauth.clientSecretRef' }] : []),
  ]
}

function environmentUses({ spec }: McpServer): Use[] {
  const single = spec.env.flatMap(({ valueFrom }, index) =>
    keyUses(valueFrom, `spec.env[${index}].valueFrom`),
  )
  const whole = spec.envFrom.flatMap(({ secretRef, configMapRef }, index): Use[] => [
    ...(secretRef
      ? [{ kind: 'Secret' as const, ...secretRef, path: `spec.envFrom[${index}].secretRef` }]
      : []),
    ...(configMapRef
      ? [{ kind: 'ConfigMap' as const, ...configMapRef, path: `spec.envFrom[${index}].configMapRef` }]
      : []),
  ])
  return [...single, ...whole]
}

type KeyRef = { name: string; key: string; optional?: boolean }

function keyUses(from: { secretKeyRef?: KeyRef; configMapKeyRef?: KeyRef } | undefined, path: string): Use[] {
  const { secretKeyRef, configMapKeyRef } = from ?? {}
  return [
    ...(secretKeyRef ? [{ kind: 'Secret' as const, ...secretKeyRef, path: `${path}.secretKeyRef` }] : []),
    ...(configMapKeyRef
      ? [{ kind: 'ConfigMap' as const, ...configMapKeyRef, path: `${path}.configMapKeyRef` }]
      : []),
  ]
}

function missingOf(uses: readonly Use[], references: ReferenceIndex): Problem[] {
  return uses.flatMap(use => {
    const problem = use.optional ? undefined : missing(use, find(references, use))
    return problem ? [problem] : []
  })
}

function missing({ kind, name, key, path }: Use, found: Reference | undefined): Problem | undefined {
  if (found?.resourceVersion === undefined) {
    const message = `the ${kind} "${name}" does not exist in this namespace: create it, or correct the name`
    return { reason: NOT_FOUND[kind], path, message }
  }
  if (key === undefined || found.keys.includes(key)) return undefined
  const message = `the ${kind} "${name}" has no key "${key}": add it, or correct the key`
  return { reason: REASON.keyNotFound, path, message }
}

function versionsDigest(names: readonly ReferenceName[], references: ReferenceIndex): string {
  const versions = names.map(name => [name.kind, name.name, find(references, name)?.resourceVersion ?? ''])
  return createHash('sha256').update(canonicalJson(versions)).digest('hex').slice(0, 16)
}

function find(references: ReferenceIndex, { kind, name }: ReferenceName): Reference | undefined {
  return references.get(`${kind}/${name}`)
}

function unique(names: readonly ReferenceName[]): ReferenceName[] {
  const byKey = new Map(names.map(({ kind, name }) => [`${kind}/${name}`, { kind, name }]))
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, name]) => name)
}
