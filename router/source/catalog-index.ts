/** The answer of `/catalog` to sidecars: the config reduced to what they need, and the versions of the catalogs that belong to it. Pure. */
import { serverObjectName } from '../../core/catalog/object-names.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import { isObject } from '../../core/json.ts'
import type { Snapshot } from './source.ts'

export const CATALOG_PATH = '/catalog'

export type CatalogIndex = {
  generation: number
  config: RouterConfig
  /** By server name: the version under which `/catalog/servers/<version>` serves its catalog. */
  catalogs: Record<string, string>
}

/** Whether the gateway calls servers at this address for sidecars, because they cannot: only its routers have the proxy or certificates for it. */
export type CallsForSidecars = (url: URL) => boolean

export function catalogIndexOf(
  { generation, config, catalogs }: Snapshot,
  callsForSidecars: CallsForSidecars = () => false,
): CatalogIndex {
  return {
    generation,
    config: { ...config, servers: config.servers.map(server => forSidecar(server, callsForSidecars)) },
    catalogs: Object.fromEntries([...catalogs].map(([server, catalog]) => [server, catalogVersion(catalog)])),
  }
}

/**
 * A sidecar calls a server directly if it needs no Secret, proxy or certificates, does not distinguish users and is not run by the operator. It
 * calls the others through the gateway.
 */
function forSidecar(server: RouterServer, callsForSidecars: CallsForSidecars): RouterServer {
  const { endpoint } = server
  if (endpoint.kind !== 'http') return server
  const { headers = [], bearer, oauth, revision } = endpoint
  const needsSecret = bearer || oauth || headers.some(header => 'secret' in header)
  const isOutOfReach = isOurPod(server, endpoint.url) || callsForSidecars(new URL(endpoint.url))
  // The gateway knows the pod as a user; the pod's own router knows nobody.
  return needsSecret || server.sessions === 'perUser' || isOutOfReach
    ? { ...server, users: undefined, endpoint: { kind: 'gateway', revision } }
    : server
}

function isOurPod({ name, namespace }: RouterServer, url: string): boolean {
  return new URL(url).hostname === `${serverObjectName(name)}.${namespace}.svc`
}

export function isCatalogIndex(value: unknown): value is CatalogIndex {
  return (
    isObject(value) &&
    typeof value.generation === 'number' &&
    isObject(value.config) &&
    isObject(value.config.gateway) &&
    Array.isArray(value.config.servers) &&
    isObject(value.catalogs) &&
    Object.values(value.catalogs).every(version => typeof version === 'string')
  )
}
