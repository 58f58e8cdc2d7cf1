/** Finds the tools for queries of mcp_search_tools: selected by name, or ranked among those with the required words. */
import type { Catalog } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { type Found, type FoundItems, findItems, type Item, joinFound } from '../../finding/search-catalog.ts'
import type { Work } from '../../meta-tool.ts'
import { shorten } from '../../wording/shorten.ts'
import { itemsHolding, readToolQuery, selectTools, type ToolQuery } from './query.ts'
import type { ServerScope } from './servers.ts'

/** Limit for repeating a name that was not found. */
const MAX_NAME_CHARACTERS = 100

export type Ranking = {
  found: FoundItems
  /** Names to select that matched nothing. */
  notFound: string[]
}

/** Finds tools for the queries. `depth`: how many hits are needed. */
export async function rankTools(
  work: Work,
  queries: readonly string[],
  depth: number,
  scope: ServerScope,
): Promise<Ranking> {
  const rankings = await Promise.all(queries.map(query => rank(work, readToolQuery(query), depth, scope)))
  return {
    found: joinFound(
      rankings.map(({ found }) => found),
      depth,
    ),
    notFound: rankings.flatMap(({ notFound }) => notFound),
  }
}

/** `isAll`: no tool contains the words of the queries, so all are listed. */
export type Listing = { tools: ToolRoute[]; isAll: boolean }

/**
 * Lists the tools of the wanted servers by path: those that contain every word of a query. If there are none and no word is
 * required, all of them: a request for a list with a query such as "all tools" wants the list.
 */
export function listTools(catalog: Catalog, queries: readonly string[], scope: ServerScope): Listing {
  const holding = (words: readonly string[]): ToolRoute[] => {
    const items = itemsHolding(catalog, words, scope)
    return catalog.tools.filter(tool => items.has(tool))
  }
  const words = queries.map(query =>
    query
      .toLowerCase()
      .split(/\s+/)
      .filter(word => word !== '*'),
  )
  const found = new Set(words.flatMap(each => holding(each.map(word => word.replace(/^\+/, '')))))
  const isAll = found.size === 0 && !words.flat().some(word => word.startsWith('+'))
  const tools = isAll ? holding([]) : [...found]
  return { tools: tools.toSorted((a, b) => (a.path < b.path ? -1 : 1)), isAll: isAll && queries.length > 0 }
}

async function rank(work: Work, query: ToolQuery, depth: number, scope: ServerScope): Promise<Ranking> {
  if (query.kind === 'select') return select(work, query.names, scope)
  if (query.required.length === 0) {
    const { includes } = scope
    const wanted = includes && (({ server }: Item) => includes(server))
    return { found: await findItems(work, query.text, depth, { wanted }), notFound: [] }
  }
  const holding = itemsHolding(work.catalog, query.required, scope)
  const found = await findItems(work, query.text, depth, { wanted: item => holding.has(item) })
  return { found: withRest(work.catalog, found, holding, depth), notFound: [] }
}

function select(work: Work, names: readonly string[], scope: ServerScope): Ranking {
  const picked = names.map(name => selectTools(work, name, scope))
  const tools = [...new Set(picked.flat())].map(item => ({ item, relevance: 1, weak: false, whole: true }))
  return {
    found: { tools, extras: [], total: tools.length },
    notFound: names
      .filter((_name, position) => picked[position]?.length === 0)
      .map(name => shorten(name, MAX_NAME_CHARACTERS)),
  }
}

/** Adds the tools that have the required words, but that the search did not find by the other words: they follow in the catalog's order. */
function withRest(
  catalog: Catalog,
  { tools, extras }: FoundItems,
  holding: ReadonlySet<Item>,
  depth: number,
): FoundItems {
  const ranked = new Set(tools.map(({ item }) => item))
  const all = catalog.tools.filter(tool => holding.has(tool))
  const rest = all
    .filter(tool => !ranked.has(tool))
    .slice(0, Math.max(0, depth - tools.length))
    .map((item): Found<ToolRoute> => ({ item, relevance: 0, weak: true, whole: false }))
  return { tools: [...tools, ...rest], extras, total: all.length }
}
