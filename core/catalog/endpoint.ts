/** How a server is reached: its URL and, as references alone, what has to be shown there. Pure. */
import type { McpServer } from '../../crds/server.ts'
import type { Placement } from './accept.ts'
import { connectionDigest } from './digests.ts'
import { BEARER_KEY, serverObjectName } from './object-names.ts'
import type { Endpoint, EndpointHeader, EndpointOAuth } from './router-config.ts'

/** Values of ConfigMaps by name and key, of the server's namespace. */
export type ConfigMapValues = ReadonlyMap<string, Readonly<Record<string, string>>>

export type EndpointInputs = {
  /** Digest of what the manifest only refers to. */
  inputs?: string
  /** For headers; one whose value is not among them is left out. */
  configMaps?: ConfigMapValues
}

const DEFAULT_NAMESPACE = 'default'

/** On a laptop every upstream hangs on this very process, which holds headers and secrets. */
export function endpointOf(server: McpServer, placement: Placement, given: EndpointInputs = {}): Endpoint {
  const { metadata, spec } = server
  const revision = connectionDigest(server, given.inputs)
  if (placement === 'local' || spec.command) return { kind: 'local', id: metadata.name, revision }
  const url = spec.remote?.url ?? serviceUrl(server)
  const transport = spec.remote?.transport ?? 'streamable-http'
  const endpoint = { kind: 'http', url, transport, revision } as const
  if (isBridged(server)) {
    return { ...endpoint, bearer: { name: serverObjectName(metadata.name), key: BEARER_KEY } }
  }
  const headers = headersOf(server, given.configMaps ?? new Map())
  const oauth = oauthOf(server)
  return { ...endpoint, ...(headers.length > 0 && { headers }), ...(oauth && { oauth }) }
}

/** Whether a stdio server stands behind our bridge, which asks for the bearer token. */
export function isBridged({ spec }: McpServer): boolean {
  return spec.npm !== undefined || spec.pypi !== undefined || spec.image?.transport === 'stdio'
}

/** Names of the Secrets that an endpoint refers to, each once. */
export function secretsOf(endpoint: Endpoint): string[] {
  if (endpoint.kind !== 'http') return []
  const { headers = [], bearer, oauth } = endpoint
  const keys = [
    ...headers.flatMap(header => ('secret' in header ? [header.secret] : [])),
    bearer,
    oauth?.clientSecret,
  ]
  return [...new Set(keys.flatMap(key => (key ? [key.name] : [])))]
}

function serviceUrl({ metadata, spec }: McpServer): string {
  const path = spec.image?.transport === 'http' ? spec.image.path : '/mcp'
  return `http://${serverObjectName(metadata.name)}.${metadata.namespace ?? DEFAULT_NAMESPACE}.svc${path}`
}

function headersOf({ spec }: McpServer, configMaps: ConfigMapValues): EndpointHeader[] {
  return spec.headers.flatMap(({ name, value, valueFrom }): EndpointHeader[] => {
    if (valueFrom?.secretKeyRef) return [{ name, secret: valueFrom.secretKeyRef }]
    const { name: configMap = '', key = '' } = valueFrom?.configMapKeyRef ?? {}
    // A file ends with a line break, which is no part of a value for HTTP.
    const found = value ?? configMaps.get(configMap)?.[key]?.replace(/\r?\n$/, '')
    return found === undefined ? [] : [{ name, value: found }]
  })
}

function oauthOf({ spec }: McpServer): EndpointOAuth | undefined {
  if (!spec.auth?.oauth) return undefined
  const { clientSecretRef: clientSecret, ...rest } = spec.auth.oauth
  return { ...rest, clientSecret }
}
