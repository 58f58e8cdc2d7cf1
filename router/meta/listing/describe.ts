/** Describes what a route offers its clients: a gateway's capabilities, or those of one server that work for clients here. Pure. */
import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { Profile, RouterServer } from '../../../core/catalog/router-config.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { declares } from '../../../core/mcp/protocol/declares.ts'
import { isModernVersion } from '../../../core/mcp/protocol/revisions.ts'
import type { McpRoute, RouteDescription } from '../../../core/mcp/server/handler.ts'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Catalog } from '../../catalog/catalog.ts'
import { PROFILES } from '../profiles/profiles.ts'
import { instructionsOf } from './instructions.ts'

/** `notifies`: whether clients are notified of changed lists. Returns undefined for an unknown route. */
export function describe(catalog: Catalog, route: McpRoute, notifies: boolean): RouteDescription | undefined {
  return route.kind === 'server'
    ? describeServer(catalog, route.server, notifies)
    : describeGateway(catalog, route.profile, notifies)
}

/** Whether the gateway serves a profile: its default, or one that it allows. */
export function isServed({ config }: Catalog, profile: Profile): boolean {
  return profile === config.profile || config.allowedProfiles.includes(profile)
}

/**
 * Whether clients can use tasks, whose results are requested later: only if each client has its own session, or the server uses none. With a
 * view, only if callers are distinguished by credentials, since otherwise task ids are not bound to callers.
 */
export function supportsTasks(
  { name, sessions }: RouterServer,
  { catalogs, view, config }: Pick<Catalog, 'catalogs' | 'view' | 'config'>,
): boolean {
  const known = catalogs.get(name)
  if (view && !config.access.auth) return false
  return sessions === 'perClient' || (known !== undefined && isModernVersion(known.protocol))
}

function describeGateway(catalog: Catalog, name: Profile, notifies: boolean): RouteDescription | undefined {
  if (!isServed(catalog, name)) return undefined
  const listChanged = notifies ? { listChanged: true } : {}
  const toolsChange = name === 'registry' || (name === 'direct' && notifies)
  return {
    capabilities: {
      tools: toolsChange ? { listChanged: true } : {},
      resources: { subscribe: true, ...listChanged },
      prompts: listChanged,
      completions: {},
      logging: {},
    } satisfies ServerCapabilities,
    serverInfo: { name: 'portolan', version: packageJson.version } satisfies Implementation,
    instructions: instructionsOf(catalog, PROFILES[name].words.usage),
  }
}

function describeServer(catalog: Catalog, name: string, notifies: boolean): RouteDescription | undefined {
  const { catalogs, servers, config } = catalog
  const server = servers.get(name)
  if (!config.exposeServers || !server) return undefined
  const known = catalogs.get(name)
  const declared = Object.entries(known?.capabilities ?? { tools: {} }).flatMap(([capability, value]) => {
    const supported = supportedPart(server, catalog, capability, value, notifies)
    return supported === undefined ? [] : [[capability, supported] as const]
  })
  return {
    capabilities: Object.fromEntries(declared),
    serverInfo: known?.serverInfo ?? { name, version: '0' },
    instructions: known?.instructions,
  }
}

/** The part of a capability that works for clients here; undefined: none. Unknown capabilities pass, as unknown methods do. */
function supportedPart(
  server: RouterServer,
  catalog: Catalog,
  capability: string,
  value: JsonValue | undefined,
  notifies: boolean,
): JsonValue | undefined {
  switch (capability) {
    case 'tools':
    case 'prompts':
      return listCapability(value, notifies)
    case 'resources':
      return { ...listCapability(value, notifies), ...(declares(value, 'subscribe') && { subscribe: true }) }
    case 'logging':
      return hasOwnLog(server) ? {} : undefined
    case 'tasks':
      return supportsTasks(server, catalog) ? taskCapability(value, catalog) : undefined
    default:
      return value
  }
}

/** Without `list` if there is authentication: the server cannot tell whose tasks it would list. */
function taskCapability(value: JsonValue | undefined, { config }: Catalog): JsonValue | undefined {
  if (!config.access.auth || !isObject(value)) return value
  const { list: _, ...rest } = value
  return rest
}

function listCapability(value: JsonValue | undefined, notifies: boolean): JsonObject {
  return notifies && declares(value, 'listChanged') ? { listChanged: true } : {}
}

/** Log messages can be assigned to a call only if it has a stream or a session of its own. */
function hasOwnLog({ sessions, transport }: RouterServer): boolean {
  return sessions === 'perClient' || transport === 'http'
}
