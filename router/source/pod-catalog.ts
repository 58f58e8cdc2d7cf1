/** What a pod's own router gets of a catalog: the part that its ServiceAccount may use, without the rules by which it may. Pure. */
import { createHash } from 'node:crypto'
import { type AccessConfig, OPEN_ACCESS, type RateLimit } from '../../core/catalog/access-config.ts'
import { matches } from '../../core/catalog/policy.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { searchTexts } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { packVectors, unpackVectors } from '../../core/catalog/vectors.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { withoutScripts } from '../catalog/script-server.ts'
import type { Snapshot } from './source.ts'

/**
 * `catalog`: as the pod's ServiceAccount sees it. Only the pod calls its own router, and the rules were applied for the pod here: the
 * router therefore gets no rules, and admits everybody who reaches it.
 */
export function podCatalog(catalog: Catalog): Snapshot {
  const { generation, config: whole, catalogs, view } = withoutScripts(catalog)
  // Limits of a pod are those of its one router, however many the gateway has.
  const { routers, ...config } = whole
  const servers = view
    ? config.servers.map(server => restrictPolicy(server, catalogs.get(server.name)))
    : config.servers
  const lists = view ? restrictLists(servers, catalogs) : catalogs
  return {
    generation,
    config: { ...config, servers, access: podAccess(config.access, servers, lists) },
    catalogs: lists,
  }
}

/** Removes patterns and overrides that would name other tools. The patterns are not needed: the lists contain only what is granted. */
function restrictPolicy(server: RouterServer, list: ServerCatalog | undefined): RouterServer {
  const names = new Set(list?.tools.map(({ definition }) => definition.name))
  const overrides = Object.entries(server.tools.overrides).filter(([tool]) => names.has(tool))
  return {
    ...server,
    tools: { ...server.tools, allow: ['*'], deny: [], overrides: Object.fromEntries(overrides) },
  }
}

function restrictLists(
  servers: readonly RouterServer[],
  catalogs: ReadonlyMap<string, ServerCatalog>,
): Map<string, ServerCatalog> {
  const lists = servers.flatMap(server => {
    const list = catalogs.get(server.name)
    return list ? [[server.name, restricted(server, list)] as const] : []
  })
  return new Map(lists)
}

/** Removes the invalid entries, and vectors of what is not granted. The digest differs from that of the complete list, since the version follows from it. */
function restricted(server: RouterServer, { vectors, ...list }: ServerCatalog): ServerCatalog {
  const names = [
    list.tools.map(({ definition }) => definition.name),
    list.resources.map(({ uri }) => uri),
    list.resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    list.prompts.map(({ name }) => name),
  ]
  const digest = createHash('sha256')
    .update(JSON.stringify([list.digest, names]))
    .digest('hex')
  const reduced = { ...list, invalid: [], digest }
  if (!vectors) return reduced
  const keys = new Set(searchTexts(server, reduced).map(({ key }) => key))
  const kept = [...unpackVectors(vectors)].filter(([key]) => keys.has(key))
  return { ...reduced, vectors: packVectors(vectors.encoder, new Map(kept)) }
}

function podAccess(
  { rateLimits }: AccessConfig,
  servers: readonly RouterServer[],
  lists: ReadonlyMap<string, ServerCatalog>,
): AccessConfig {
  return { ...OPEN_ACCESS, rateLimits: rateLimits.flatMap(limit => restrictLimit(limit, servers, lists)) }
}

/** The limit without the names of servers and tools that the pod may not use; an empty list if the limit applies only to those. */
function restrictLimit(
  limit: RateLimit,
  servers: readonly RouterServer[],
  lists: ReadonlyMap<string, ServerCatalog>,
): RateLimit[] {
  const names = servers.map(({ name }) => name).filter(name => limit.servers?.includes(name) ?? true)
  const tools = names.flatMap(name => lists.get(name)?.tools.map(({ definition }) => definition.name) ?? [])
  const patterns = limit.tools?.filter(pattern => tools.some(tool => matches(pattern, tool)))
  if (names.length === 0 || patterns?.length === 0) return []
  return [{ ...limit, ...(limit.servers && { servers: names }), ...(patterns && { tools: patterns }) }]
}
