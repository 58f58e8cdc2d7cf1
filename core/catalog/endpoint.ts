/** The endpoint of a server: its URL, and references to its credentials, never their values. Pure. */
import { MAX_HEADER_CHARACTERS } from '../../crds/core-v1.ts'
import type { McpServer } from '../../crds/server.ts'
import { DEFAULT_USER_HEADERS } from '../../crds/server-auth.ts'
import { ownValue } from '../own-value.ts'
import type { Placement } from './accept.ts'
import { connectionDigest } from './digests.ts'
import { AUTHORITY_KEY, BEARER_KEY, serverHost, serverObjectName } from './object-names.ts'
import type {
  Endpoint,
  EndpointHeader,
  EndpointLogin,
  EndpointOAuth,
  EndpointTokenExchange,
  SecretKey,
} from './router-config.ts'

/** The ConfigMaps of the server's namespace: data by name and key. */
export type ConfigMapValues = ReadonlyMap<string, Readonly<Record<string, string>>>

export type EndpointInputs = {
  /** Digest of what the manifest refers to, such as Secrets. */
  inputs?: string
  /** For values of headers; a header whose value is missing here is left out. */
  configMaps?: ConfigMapValues
}

const DEFAULT_NAMESPACE = 'default'

/** How the router reaches a server. On a laptop every upstream is `local`: this process connects it, and knows headers and secrets. */
export function endpointOf(server: McpServer, placement: Placement, given: EndpointInputs = {}): Endpoint {
  const { metadata, spec } = server
  const revision = connectionDigest(server, given.inputs)
  if (placement === 'local' || spec.command) return { kind: 'local', id: metadata.name, revision }
  const url = spec.remote?.url ?? serviceUrl(server)
  const transport = spec.remote?.transport ?? 'streamable-http'
  const endpoint = { kind: 'http', url, transport, revision } as const
  if (isBridged(server)) {
    const name = serverObjectName(metadata.name)
    const authority = { name, key: AUTHORITY_KEY }
    return {
      ...endpoint,
      bearer: { name, key: BEARER_KEY },
      ...(spec.tls && { authority }),
      ...(spec.sessions === 'perUser' && { podPerUser: true as const }),
    }
  }
  const headers = headersOf(server, given.configMaps ?? new Map())
  const oauth = oauthOf(server)
  const exchange = exchangeOf(server)
  const { secrets, oauth: login } = server.spec.auth?.perUser ?? {}
  return {
    ...endpoint,
    ...(headers.length > 0 && { headers }),
    ...(oauth && { oauth }),
    ...(exchange && { exchange }),
    ...(login && { login: loginOf(login) }),
    ...(secrets && { userHeaders: secrets.headers ?? DEFAULT_USER_HEADERS }),
  }
}

/** Whether it is a stdio server behind our bridge, which requires a bearer token. */
export function isBridged({ spec }: Pick<McpServer, 'spec'>): boolean {
  return spec.npm !== undefined || spec.pypi !== undefined || spec.image?.transport === 'stdio'
}

/** Names of the Secrets that an endpoint refers to, without duplicates. */
export function secretsOf(endpoint: Endpoint): string[] {
  if (endpoint.kind !== 'http') return []
  const { headers = [], bearer, authority, oauth, exchange, login } = endpoint
  const keys = [
    ...headers.flatMap(header => ('secret' in header ? [header.secret] : [])),
    bearer,
    authority,
    oauth?.clientSecret,
    exchange?.clientSecret,
    login?.clientSecret,
  ]
  return [...new Set(keys.flatMap(key => (key ? [key.name] : [])))]
}

function serviceUrl({ metadata, spec }: McpServer): string {
  const path = spec.image?.transport === 'http' ? spec.image.path : '/mcp'
  const scheme = spec.tls ? 'https' : 'http'
  return `${scheme}://${serverHost(metadata.name, metadata.namespace ?? DEFAULT_NAMESPACE)}${path}`
}

function headersOf({ spec }: McpServer, configMaps: ConfigMapValues): EndpointHeader[] {
  return spec.headers.flatMap(({ name, value, valueFrom }): EndpointHeader[] => {
    if (valueFrom?.secretKeyRef) return [{ name, secret: valueFrom.secretKeyRef }]
    const { name: configMap = '', key = '' } = valueFrom?.configMapKeyRef ?? {}
    // ConfigMaps made from files end with a line break, which is not valid in a header.
    const found = value ?? ownValue(configMaps.get(configMap), key)?.replace(/\r?\n$/, '')
    return found === undefined || found.length > MAX_HEADER_CHARACTERS ? [] : [{ name, value: found }]
  })
}

function oauthOf({ spec }: McpServer): EndpointOAuth | undefined {
  if (!spec.auth?.oauth) return undefined
  const { clientSecretRef: clientSecret, ...rest } = spec.auth.oauth
  return { ...rest, clientSecret }
}

/** The OAuth client with which users log in, from the fields of a manifest. */
export function loginOf({
  scopes,
  issuer,
  clientId,
  clientSecretRef: clientSecret,
}: {
  scopes: string[]
  issuer?: string
  clientId?: string
  clientSecretRef?: SecretKey
}): EndpointLogin {
  return {
    scopes,
    ...(issuer !== undefined && { issuer }),
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret && { clientSecret }),
  }
}

function exchangeOf({ spec }: McpServer): EndpointTokenExchange | undefined {
  const exchange = spec.auth?.perUser?.tokenExchange
  if (!exchange) return undefined
  const { clientSecretRef: clientSecret, ...rest } = exchange
  return { ...rest, clientSecret }
}
