/** The instructions a client gets when it connects to a gateway: how to use it, and which servers are behind it. Pure. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import { OTHER } from '../profiles/registry/categories.ts'
import { shorten } from '../wording/shorten.ts'

/** Limit for the list of servers, which keeps the instructions within 150 tokens. */
const LIST_TOKENS = 90
const MAX_CATEGORY_CHARACTERS = 40

/** The text, of at most 150 tokens however many servers there are. `usage`: how to use the gateway, as part of a sentence. */
export function instructionsOf(catalog: Catalog, usage: string): string {
  const { servers, tools } = catalog.totals
  if (servers === 0) return 'No server is available behind this gateway at the moment.'
  const shown = [...catalog.servers.values()].filter(server => !server.status.hidden)
  const list = listOf(shown)
  return `${tools} tools of ${servers} ${servers === 1 ? 'server' : 'servers'}: ${usage}. ${list}.`
}

/** Names by category if all fit; otherwise categories with their number of servers; otherwise as many names as fit. */
function listOf(servers: readonly RouterServer[]): string {
  const names = servers.map(server => server.name)
  const groups = [
    ...Map.groupBy(servers, server => shorten(server.category ?? OTHER, MAX_CATEGORY_CHARACTERS)),
  ]
  groups.sort(([a], [b]) => Number(a === OTHER) - Number(b === OTHER) || (a < b ? -1 : 1))
  const isGrouped = groups.some(([category]) => category !== OTHER)
  const lists = isGrouped
    ? [
        `Servers: ${groups.map(([category, members]) => `${category}: ${members.map(({ name }) => name).join(', ')}`).join('; ')}`,
        `Categories: ${groups.map(([category, { length }]) => `${category} (${length})`).join(', ')}`,
        `Categories: ${groups.map(([category]) => category).join(', ')}`,
      ]
    : [`Servers: ${names.join(', ')}`]
  return lists.find(fits) ?? `Servers: ${firstOf(names)}`
}

function fits(list: string): boolean {
  return estimateTokens(list) <= LIST_TOKENS
}

/** As many names as fit, and how many more there are if not all do. */
function firstOf(names: readonly string[]): string {
  let tokens = 0
  const fitting = names.findIndex(name => {
    tokens += estimateTokens(name) + 1
    return tokens > LIST_TOKENS
  })
  if (fitting < 0) return names.join(', ')
  return `${names.slice(0, fitting).join(', ')} and ${names.length - fitting} more`
}
