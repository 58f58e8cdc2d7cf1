/** Secrets and ConfigMaps that manifests name: their names, missing ones, and digests of their content. Pure. */
import { createHash } from 'node:crypto'
import { isBridged } from '../../core/catalog/endpoint.ts'
import { certificateName, serverObjectName } from '../../core/catalog/object-names.ts'
import type { Problem } from '../../core/errors.ts'
import { canonicalJson, type JsonValue } from '../../core/json.ts'
import { ownValue } from '../../core/own-value.ts'
import { REASON } from '../../crds/conditions.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import type { McpServer } from '../../crds/server.ts'
import type { Reference } from './plan.ts'
import { usesSecret } from './pod-fields.ts'

/** `whole`: the values of the ConfigMap are needed however long they are. Otherwise they are needed only for headers. */
export type ReferenceName = Pick<Reference, 'kind' | 'name'> & { whole?: true }

/** Keyed by `kind/name`. */
export type ReferenceIndex = ReadonlyMap<string, Reference>

/** A place in a manifest that names an object, or one key of it. */
type Use = ReferenceName & { key?: string; optional?: boolean; path: string }

const NOT_FOUND = { Secret: REASON.secretNotFound, ConfigMap: REASON.configMapNotFound } as const

/**
 * Every Secret and ConfigMap that `env`, `envFrom`, `headers` and `auth` name, and the Secrets with the bearer token and certificate of its bridge;
 * each once, sorted.
 */
export function referencesOf(server: McpServer): ReferenceName[] {
  const { metadata, spec } = server
  const ofBridge = isBridged(server) ? [serverObjectName(metadata.name)] : []
  if (spec.tls) ofBridge.push(certificateName(metadata.name))
  return unique([...usesOf(server), ...ofBridge.map(name => ({ kind: 'Secret' as const, name }))])
}

/** The Secrets and ConfigMaps that a gateway itself names, without those of its servers. */
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

/**
 * The same for a gateway. These are only warnings: without its key the embeddings service is not used, and without the Secret of tokens no caller is
 * admitted by a token.
 */
export function missingGatewayReferences(gateway: McpGateway, references: ReferenceIndex): Problem[] {
  return missingOf(gatewayUses(gateway), references)
}

/** Digest of everything that needs a new connection when it changes. The bearer token is not included: it may be replaced while connections stay. */
export function connectionInputs(server: McpServer, references: ReferenceIndex): string {
  return digestOf(usesOf(server), references)
}

/**
 * Digest of everything that needs new pods when it changes. While something required is missing, it stays `current`, the digest of the existing
 * pods, since new pods could not start. An optional object that was deleted counts with its last values, so that it can be created again without
 * replacing pods. If nothing of what is named was ever seen, nothing can have changed.
 */
export function podInputs(server: McpServer, references: ReferenceIndex, current?: string): string {
  const uses = environmentUses(server)
  const isUnseen = uses.length > 0 && uses.every(use => contentDigest(find(references, use)) === undefined)
  const isFrozen = isUnseen || missingOf(uses, references).length > 0
  return (isFrozen ? current : undefined) ?? digestOf(uses, references)
}

/** Digest of all values of an object; undefined if it does not exist and was never seen. */
export function contentDigest(reference: Reference | undefined): string | undefined {
  return reference && (reference.exists || Object.keys(reference.digests).length > 0)
    ? shortDigest(reference.digests)
    : undefined
}

/** Whether the server's process gets values of a Secret. */
export function holdsSecret(server: McpServer): boolean {
  const { pod = {} } = server.spec
  return environmentUses(server).some(({ kind }) => kind === 'Secret') || usesSecret(pod as JsonValue)
}

function gatewayUses({ spec }: McpGateway): Use[] {
  const secret = spec.search.embeddings?.secretRef
  const tokens = spec.auth?.tokens
  const logins = (spec.auth?.jwt ?? []).flatMap(({ login }, at) =>
    login?.clientSecretRef
      ? [
          {
            kind: 'Secret' as const,
            ...login.clientSecretRef,
            path: `spec.auth.jwt[${at}].login.clientSecretRef`,
          },
        ]
      : [],
  )
  return [
    ...logins,
    ...(secret ? [{ kind: 'Secret' as const, ...secret, path: 'spec.search.embeddings.secretRef' }] : []),
    ...(tokens
      ? [{ kind: 'Secret' as const, name: tokens.secretName, path: 'spec.auth.tokens.secretName' }]
      : []),
  ]
}

/** ConfigMaps with keys, CA bundles and revoked tokens, whole: a part of a list would admit the others. `resolve` reads them and reports what is missing. */
function authConfigMaps({ spec: { auth } }: McpGateway): ReferenceName[] {
  const refs =
    auth?.jwt.flatMap(({ keys, caBundle }) => [keys?.configMapKeyRef, caBundle?.configMapKeyRef]) ?? []
  const names = [...refs.map(ref => ref?.name), auth?.revoked?.configMapName]
  return names.flatMap(name =>
    name === undefined ? [] : [{ kind: 'ConfigMap' as const, name, whole: true as const }],
  )
}

function usesOf(server: McpServer): Use[] {
  const { headers, auth } = server.spec
  const secret = auth?.oauth?.clientSecretRef
  const exchange = auth?.perUser?.tokenExchange?.clientSecretRef
  const login = auth?.perUser?.oauth?.clientSecretRef
  return [
    ...environmentUses(server),
    ...headers.flatMap(({ valueFrom }, index) => keyUses(valueFrom, `spec.headers[${index}].valueFrom`)),
    ...(secret ? [{ kind: 'Secret' as const, ...secret, path: 'spec.auth.oauth.clientSecretRef' }] : []),
    ...(exchange
      ? [{ kind: 'Secret' as const, ...exchange, path: 'spec.auth.perUser.tokenExchange.clientSecretRef' }]
      : []),
    ...(login
      ? [{ kind: 'Secret' as const, ...login, path: 'spec.auth.perUser.oauth.clientSecretRef' }]
      : []),
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
  if (!found?.exists) {
    const message = `the ${kind} "${name}" does not exist in this namespace: create it, or correct the name`
    return { reason: NOT_FOUND[kind], path, message }
  }
  if (key === undefined || Object.hasOwn(found.digests, key)) return undefined
  const message = `the ${kind} "${name}" has no key "${key}": add it, or correct the key`
  return { reason: REASON.keyNotFound, path, message }
}

/** Covers only the values that are used: other keys, labels and annotations of an object have no effect. */
function digestOf(uses: readonly Use[], references: ReferenceIndex): string {
  const content = uses.map(use => {
    const { digests = {} } = find(references, use) ?? {}
    return [
      use.kind,
      use.name,
      use.key ?? '',
      use.key === undefined ? digests : (ownValue(digests, use.key) ?? ''),
    ]
  })
  return shortDigest(content)
}

function shortDigest(content: unknown): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 16)
}

function find(references: ReferenceIndex, { kind, name }: ReferenceName): Reference | undefined {
  return references.get(`${kind}/${name}`)
}

function unique(names: readonly ReferenceName[]): ReferenceName[] {
  const byKey = new Map(
    names.map(({ kind, name, whole }) => [`${kind}/${name}`, { kind, name, ...(whole && { whole }) }]),
  )
  return [...byKey.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, reference]) => reference)
}
