/** Selects servers by serverId and serverName, and formats how the search profile names servers. Pure. */
import type { RouterServer } from '../../../../core/catalog/router-config.ts'
import type { JsonObject } from '../../../../core/json.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { MAX_QUERY_CHARACTERS } from '../../../catalog/search/query-limits.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { namesResource } from '../../calling/execute.ts'
import { findServer, stateRefusalOf, unknownServer } from '../../calling/targets.ts'
import type { Refusal } from '../../wording/answers.ts'
import { quote } from '../../wording/sentences.ts'

const FINDING = ' mcp_list_servers lists the servers.'

export type ServerScope = {
  /** Undefined: all servers. */
  includes?: (server: string) => boolean
  /** The server given by serverId. */
  id?: string
}

/** A server's name for people: its title if it has one. */
export function serverNameOf({ title, name }: RouterServer): string {
  return title ?? name
}

/** The servers whose name, title, category, description or keywords contain every word of a text; case-insensitive, hidden ones included. */
export function serversCalled({ servers }: Catalog, text: string): RouterServer[] {
  const words = [...new Set(text.slice(0, MAX_QUERY_CHARACTERS).toLowerCase().split(/\s+/))]
  return [...servers.values()].filter(({ name, title, category, description, keywords }) => {
    const own = [name, title, category, description, ...keywords].join('\n').toLowerCase()
    return words.every(word => own.includes(word))
  })
}

/** serverId must match exactly; serverName matches what mcp_list_servers finds. Refuses servers that are unknown or cannot be used. */
export function readServerScope(
  catalog: Catalog,
  { serverId, serverName }: JsonObject,
): ServerScope | Refusal {
  const wrong = Object.entries({ serverId, serverName }).find(
    ([, value]) => typeof (value ?? '') !== 'string',
  )
  if (wrong) return { refusal: `${wrong[0]} is no text: give a string.`, outcome: 'rejected' }
  const server = serverId ? findServer(catalog, String(serverId), FINDING) : undefined
  if (server && 'refusal' in server) return server
  const id = server?.name
  const text = String(serverName ?? '').trim()
  if (text === '') return id === undefined ? {} : { includes: name => name === id, id }
  const named = findNamed(catalog, text)
  if ('refusal' in named) return named
  if (id !== undefined && !named.names.has(id)) {
    const refusal = `Server ${quote(id)} is not called ${quote(text)}: leave out serverId or serverName.`
    return { refusal, outcome: 'rejected', server }
  }
  return { includes: name => (id === undefined ? named.names.has(name) : name === id), id }
}

/** The names of the usable servers that a text describes. */
function findNamed(catalog: Catalog, text: string): { names: ReadonlySet<string> } | Refusal {
  const called = serversCalled(catalog, text)
  const shown = called.filter(({ status }) => !status.hidden)
  const [hidden] = called
  if (shown.length > 0) return { names: new Set(shown.map(({ name }) => name)) }
  return hidden ? stateRefusalOf(hidden) : unknownServer(catalog, text, FINDING)
}

/**
 * The name to pass to findTarget for a tool (or prompt) given with or without its server: the server's own tool of that name if
 * there is one, else the name as given. What names a resource or a kept result stays as it is.
 */
export function nameWithin(
  { toolByName, promptByName }: Catalog,
  name: string,
  id: string | undefined,
): string {
  if (id === undefined) return name
  const isOwn = toolByName.has(`${id}:${name}`)
  if (namesResource(name) && !isOwn) return name
  const known = toolByName.get(name) ?? promptByName.get(name)
  return known?.server === id && !isOwn ? name : `${id}:${name}`
}

/** A tool in an answer of the search profile. */
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
