/** Categories for browsing tools if a search finds nothing good. Pure. */

import type { RouterServer } from '../../../../core/catalog/router-config.ts'
import { ownValue } from '../../../../core/own-value.ts'
import { type Catalog, isFound, isShown, routeOf } from '../../../catalog/catalog.ts'
import { nearest, shownServers, stateRefusalOf } from '../../calling/targets.ts'
import type { Item } from '../../finding/search-catalog.ts'
import type { Refusal } from '../../wording/answers.ts'
import { quote } from '../../wording/sentences.ts'

/** The category of tools that have none. */
export const OTHER = 'other'

export type Category = {
  category: string
  /** Names of the servers with a tool in the category. */
  servers: string[]
  tools: number
}

/** The category that the manifest gives the tool, otherwise that of its server. `own`: the tool's name at the server. */
export function categoryOf(server: RouterServer | undefined, own: string): string {
  return ownValue(server?.tools.overrides, own)?.category ?? server?.category ?? OTHER
}

/** Categories of the visible tools, the largest first. */
export function categoriesOf(catalog: Catalog): Category[] {
  const found = new Map<string, { servers: Set<string>; tools: number }>()
  for (const route of catalog.tools) {
    const { server, tool } = route
    if (!isFound(catalog, route)) continue
    const name = categoryOf(catalog.servers.get(server), tool)
    const category = found.get(name) ?? { servers: new Set(), tools: 0 }
    found.set(name, category)
    category.servers.add(server)
    category.tools++
  }
  return [...found]
    .map(([category, { servers, tools }]) => ({ category, servers: [...servers], tools }))
    .sort((a, b) => b.tools - a.tools || (a.category < b.category ? -1 : 1))
}

/** Whether an item belongs to a category, or to a server given by name or title; case-insensitive. */
export function inCategory(catalog: Catalog, wanted: string): (item: Item) => boolean {
  const name = wanted.toLowerCase()
  return ({ server: serverName, definition }) => {
    const server = catalog.servers.get(serverName)
    const names = [categoryOf(server, String(definition.name)), server?.name, server?.title]
    return names.some(one => one?.toLowerCase() === name)
  }
}

/** Whether a server has this name, title or category, or gives one of its tools this category; `name` in lower case. */
function belongsTo(server: RouterServer, name: string): boolean {
  const overridden = Object.values(server.tools.overrides).map(({ category }) => category)
  const names = [server.name, server.title, server.category ?? OTHER, ...overridden]
  return names.some(one => one?.toLowerCase() === name)
}

/** The refusal if nothing that can be found belongs to a category or server of this name; suggests the nearest, or gives the server's state. */
export function refusedCategory(catalog: Catalog, name: string): Refusal | undefined {
  const isIn = inCategory(catalog, name)
  const isWanted = (item: Item) => isIn(item) && isShown(catalog, item.server)
  if (catalog.tools.some(isWanted) || catalog.extras.some(extra => isWanted(routeOf(extra)))) return undefined
  const belonging = [...catalog.servers.values()].filter(server => belongsTo(server, name.toLowerCase()))
  if (belonging.some(({ status }) => !status.hidden)) return undefined
  if (belonging[0]) return stateRefusalOf(belonging[0])
  const names = new Set([...shownServers(catalog), ...categoriesOf(catalog).map(({ category }) => category)])
  return {
    refusal: `There is no category or server ${quote(name)}.${nearest(name, [...names])}`,
    outcome: 'rejected',
    asked: { kind: 'server', text: name },
  }
}
