/** What a client is told about a gateway when it connects: how to use it, and what is behind it. Pure. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { shorten } from './shorten.ts'

/** Some 100 tokens. */
const LONGEST_SERVER_LIST = 320
const LONGEST_TITLE = 40

/** At most some 150 tokens, however many servers there are. */
export function instructionsOf(catalog: Catalog): string {
  const { servers, tools } = catalog.totals
  if (servers === 0) return 'No server is available behind this gateway at the moment.'
  const shown = [...catalog.servers.values()].filter(server => !server.status.hidden)
  return `${tools} tools of ${servers} ${servers === 1 ? 'server' : 'servers'}: search with discover_mcp_tools, call with execute_mcp_tool. Servers: ${listOf(shown)}.`
}

/** Names where they all fit; else the categories; else as many names as fit. */
function listOf(servers: readonly RouterServer[]): string {
  const names = servers.map(server => server.name)
  const all = names.join(', ')
  if (all.length <= LONGEST_SERVER_LIST) return all
  const categories = [...new Set(servers.map(server => shorten(server.category ?? '', LONGEST_TITLE)))].sort()
  const joined = categories.join(', ')
  return !categories.includes('') && joined.length <= LONGEST_SERVER_LIST ? joined : firstOf(names)
}

function firstOf(names: readonly string[]): string {
  let length = 0
  const fitting = names.findIndex(name => {
    length += name.length + 2
    return length > LONGEST_SERVER_LIST
  })
  return `${names.slice(0, fitting).join(', ')} and ${names.length - fitting} more`
}
