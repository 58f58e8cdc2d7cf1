/** Parses the query language of mcp_search_tools: `select:name`, `+term`, and words. Pure. */
import { type Catalog, isFound, isShown, routeOf } from '../../../catalog/catalog.ts'
import { MAX_QUERY_CHARACTERS } from '../../../catalog/search/query-limits.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import type { Item } from '../../finding/search-catalog.ts'
import { isSelection, selectedNames, toolsNamed } from '../../finding/selection.ts'
import type { Work } from '../../meta-tool.ts'
import { nameWithin, type ServerScope } from './servers.ts'

export type ToolQuery =
  /** Each name selects the tools that have it. */
  | { kind: 'select'; names: string[] }
  /** Words to rank by; each of `required` (in lower case) must occur in name, description or server. */
  | { kind: 'words'; text: string; required: string[] }

export function readToolQuery(query: string): ToolQuery {
  if (isSelection(query)) return { kind: 'select', names: selectedNames(query) }
  const words = query.slice(0, MAX_QUERY_CHARACTERS).split(/\s+/)
  const isRequired = (word: string) => word.length > 1 && word.startsWith('+')
  return {
    kind: 'words',
    text: words.map(word => (isRequired(word) ? word.slice(1) : word)).join(' '),
    required: words.filter(isRequired).map(word => word.slice(1).toLowerCase()),
  }
}

/**
 * All visible tools of the wanted servers with this name: path, listed name, or the tool's name at its server, which several servers may
 * use; otherwise the only one whose name differs just in case and separators.
 */
export function selectTools(work: Work, name: string, { id, includes }: ServerScope): ToolRoute[] {
  const { catalog } = work
  const meant = toolsNamed(work, name, nameWithin(catalog, name, id))
  return meant.filter(({ server }) => isShown(catalog, server) && (includes?.(server) ?? true))
}

/** The visible items of the wanted servers whose name, description or server contains all terms, which are in lower case. */
export function itemsHolding(
  catalog: Catalog,
  terms: readonly string[],
  { includes }: ServerScope,
): ReadonlySet<Item> {
  const distinct = [...new Set(terms)]
  const items = [...catalog.tools, ...catalog.extras.map(routeOf)]
  return new Set(
    items.filter(
      item => isFound(catalog, item) && (includes?.(item.server) ?? true) && holds(catalog, item, distinct),
    ),
  )
}

function holds({ servers }: Catalog, { server, definition }: Item, terms: readonly string[]): boolean {
  if (terms.length === 0) return true
  const { name, description } = definition
  const text = `${name}\n${description ?? ''}\n${server}\n${servers.get(server)?.title ?? ''}`.toLowerCase()
  return terms.every(term => text.includes(term))
}
