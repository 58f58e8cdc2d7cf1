/** Determines the servers whose lists have to be read for a caller before its request is answered. Pure. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { McpRequest } from '../../core/mcp/server/handler.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { meantServer } from './calling/targets.ts'
import { isServed } from './listing/describe.ts'
import { isDirect } from './meta-tool.ts'
import { metaToolNamed } from './profiles/profile.ts'
import { PROFILES } from './profiles/profiles.ts'

export type ReadingRequest = Pick<McpRequest, 'route' | 'method' | 'params'>

const METHODS_WITH_NAME: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])
/** All other methods are refused or passed on, whatever is in the lists. */
const METHODS_WITH_LISTS: ReadonlySet<string> = new Set([
  ...METHODS_WITH_NAME,
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'prompts/list',
  'completion/complete',
])
const NONE_TO_READ: readonly string[] = []

/**
 * The servers whose lists are to be read, of those with own lists for each user. Empty: the known lists are enough. Undefined: the
 * request uses no list of these servers.
 */
export function listsToRead(catalog: Catalog, request: ReadingRequest): readonly string[] | undefined {
  // On the direct route, each request compares the list that the client has read with the current one.
  return serversToRead(catalog, request) ?? (isDirect(request.route) ? NONE_TO_READ : undefined)
}

function serversToRead(catalog: Catalog, request: ReadingRequest): readonly string[] | undefined {
  const { route, method, params } = request
  const { listedPerUser, config } = catalog
  if (!METHODS_WITH_LISTS.has(method)) return undefined
  const only = (server: string) => (listedPerUser.includes(server) ? [server] : undefined)
  if (route.kind === 'server') return config.exposeServers ? only(route.server) : undefined
  if (!isServed(catalog, route.profile)) return undefined
  if (method === 'tools/list' && route.profile !== 'direct')
    return route.profile === 'registry' ? NONE_TO_READ : undefined
  if (!METHODS_WITH_NAME.has(method)) return listedPerUser
  if (typeof params.name !== 'string') return undefined
  const server = serverNamed(catalog, nameUsed(catalog, request, params.name))
  return server === undefined ? listedPerUser : only(server)
}

/** The name of the tool or prompt that is called, directly or through a meta-tool; undefined if it cannot be told. */
function nameUsed(catalog: Catalog, { route, method, params }: ReadingRequest, name: string): unknown {
  if (route.kind === 'server' || method !== 'tools/call') return name
  const metaTool = metaToolNamed(catalog, PROFILES[route.profile], name)
  if (!metaTool) return name
  const args: JsonObject = isObject(params.arguments) ? params.arguments : {}
  return metaTool.nameUsed?.(args)
}

/** The server of the tool or prompt with this name; undefined if any server may have it. */
function serverNamed(catalog: Catalog, name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const found = catalog.toolByName.get(name) ?? catalog.promptByName.get(name)
  return found?.server ?? meantServer(catalog, name)?.name
}
