/** Whose lists a request looks at, so that those alone are read for its caller before it is answered. Pure. */
import { isObject, type JsonObject } from '../../core/json.ts'
import type { McpRequest } from '../../core/mcp/server/handler.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { meantServer } from './calling/targets.ts'
import { isServed } from './listing/describe.ts'
import { isDirect } from './meta-tool.ts'
import { metaToolNamed } from './profiles/profile.ts'
import { PROFILES } from './profiles/profiles.ts'

export type Looking = Pick<McpRequest, 'route' | 'method' | 'params'>

const NAMING: ReadonlySet<string> = new Set(['tools/call', 'prompts/get'])
/** All others are refused or passed on, whatever is in the lists. */
const LOOKING: ReadonlySet<string> = new Set([
  ...NAMING,
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'prompts/list',
  'completion/complete',
])
const KNOWN_ONES: readonly string[] = []

/**
 * The servers whose lists are to be read, of those that have some for each user. Empty: what is known of them is enough. Undefined: the
 * request looks at no list of theirs.
 */
export function listsLookedAt(catalog: Catalog, looking: Looking): readonly string[] | undefined {
  // At each request on this route, what the client has listed is compared with what it sees now.
  return toBeRead(catalog, looking) ?? (isDirect(looking.route) ? KNOWN_ONES : undefined)
}

function toBeRead(catalog: Catalog, looking: Looking): readonly string[] | undefined {
  const { route, method, params } = looking
  const { listedPerUser, config } = catalog
  if (!LOOKING.has(method)) return undefined
  const only = (server: string) => (listedPerUser.includes(server) ? [server] : undefined)
  if (route.kind === 'server') return config.exposeServers ? only(route.server) : undefined
  if (!isServed(catalog, route.profile)) return undefined
  if (method === 'tools/list' && route.profile !== 'direct')
    return route.profile === 'registry' ? KNOWN_ONES : undefined
  if (!NAMING.has(method)) return listedPerUser
  if (typeof params.name !== 'string') return undefined
  const server = serverNamed(catalog, nameUsed(catalog, looking, params.name))
  return server === undefined ? listedPerUser : only(server)
}

/** What is called by its name, also by a meta-tool. */
function nameUsed(catalog: Catalog, { route, method, params }: Looking, name: string): unknown {
  if (route.kind === 'server' || method !== 'tools/call') return name
  const metaTool = metaToolNamed(catalog, PROFILES[route.profile], name)
  if (!metaTool) return name
  const args: JsonObject = isObject(params.arguments) ? params.arguments : {}
  return metaTool.nameUsed?.(args)
}

/** Undefined: any server may have what has this name. */
function serverNamed(catalog: Catalog, name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined
  const found = catalog.toolByName.get(name) ?? catalog.promptByName.get(name)
  return found?.server ?? meantServer(catalog, name)?.name
}
