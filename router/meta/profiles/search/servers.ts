/** Which servers serverId and serverName leave, and how the tools of the search profile speak of servers. Pure. */
import type { RouterServer } from '../../../../core/catalog/router-config.ts'
import type { JsonObject } from '../../../../core/json.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { findServer } from '../../calling/targets.ts'
import type { Refusal } from '../../wording/answers.ts'

export type ServerScope = {
  /** Undefined: all. */
  includes?: (server: string) => boolean
  /** The one that serverId names. */
  id?: string
}

export function serverNameOf({ title, name }: RouterServer): string {
  return title ?? name
}

/** serverId is exact and must be one that may be used; serverName is a part of a title or name, in any case. */
export function readServerScope(
  catalog: Catalog,
  { serverId, serverName }: JsonObject,
): ServerScope | Refusal {
  const wrong = Object.entries({ serverId, serverName }).find(
    ([, value]) => typeof (value ?? '') !== 'string',
  )
  if (wrong) return { refusal: `${wrong[0]} is no text: give a string.`, outcome: 'rejected' }
  if (serverId) {
    const server = findServer(catalog, String(serverId))
    if ('refusal' in server) return server
  }
  const id = serverId ? String(serverId) : undefined
  const fragment = String(serverName ?? '').toLowerCase()
  if (id === undefined && fragment === '') return {}
  const included = new Set<string>()
  for (const server of catalog.servers.values())
    if (
      (id === undefined || server.name === id) &&
      `${server.title ?? ''}\n${server.name}`.toLowerCase().includes(fragment)
    )
      included.add(server.name)
  return { includes: name => included.has(name), id }
}

/**
 * The name that findTarget takes for a tool (or prompt) that was given with or without its server: the server's own tool where it
 * has one of that name, else what was given.
 */
export function nameWithin(
  { toolByName, promptByName }: Catalog,
  name: string,
  id: string | undefined,
): string {
  if (id === undefined) return name
  const known = toolByName.get(name) ?? promptByName.get(name)
  return known?.server === id && !toolByName.has(`${id}:${name}`) ? name : `${id}:${name}`
}

export function toolLine(
  { servers }: Catalog,
  { server, tool, definition }: ToolRoute,
  description: string,
): JsonObject {
  const known = servers.get(server)
  return {
    toolName: tool,
    description: description || definition.name,
    serverName: known ? serverNameOf(known) : server,
    serverId: server,
  }
}
