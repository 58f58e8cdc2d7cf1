/** Finds tools, resources and prompts for one or several queries; the search of every profile is built on it. */
import type { Vector } from '../../../core/catalog/vectors.ts'
import type { JsonObject } from '../../../core/json.ts'
import { type Catalog, type Extra, isShown, routeOf } from '../../catalog/catalog.ts'
import type {
  Explanation,
  SearchHit,
  SearchIndex,
  SearchOptions,
  VectorTable,
} from '../../catalog/search/search-index.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import type { Work } from '../meta-tool.ts'
import { searched } from '../spans.ts'
import { fittingExtras } from './fitting-extras.ts'

/** A hit. `relevance`: from 0 to 1; `weak`: probably not what was meant; `whole`: the item was requested by its exact name. */
export type Found<T> = { item: T; relevance: number; weak: boolean; whole: boolean }

export type FoundItems = {
  /** Best first; for several queries the first hit of each, then the second of each, without duplicates. */
  tools: Found<ToolRoute>[]
  extras: Found<Extra>[]
  /** How many tools matched in all, without weak ones. */
  total: number
  /** Well-known products that a query names, but no server of a tool. */
  absent?: readonly string[]
}

/** Anything a filter decides about: a tool, a resource, a template or a prompt. */
export type Item = { server: string; definition: JsonObject }

export type SearchScope = {
  /** Filters visible items; default: all. */
  wanted?: (item: Item) => boolean
}

/** The sentence for agents if `fitsNone` and the tools of all servers are known; see `nothingFits` of remarks.ts. */
export const NOTHING_FITS = 'Probably no tool here does this: say it in other words, or do without.'
/** Weak hits after this rank are shown only if a limit or cursor is given: only one in two hundred of them was the wanted tool. */
const LAST_WEAK = 5
const MAX_EXTRAS = 3
/** How many hits are compared to find whether one stands out from the others of its server. */
const EXTRAS_COMPARED = 12
/** Resources and prompts are secondary: only good matches are worth their tokens. */
const MIN_EXTRA_RELEVANCE = 0.4

/** Searches for each query, and joins the hits: at most `limit` tools, and a few resources and prompts. */
export async function searchCatalog(
  work: Work,
  queries: readonly string[],
  limit: number,
  scope: SearchScope = {},
): Promise<FoundItems> {
  return joinFound(await Promise.all(queries.map(query => findItems(work, query, limit, scope))), limit)
}

/** Whether there are no hits, or only weak ones. */
export function fitsNone(tools: readonly Found<ToolRoute>[]): boolean {
  return tools.every(({ weak }) => weak)
}

/** How many hits an answer shows if no limit is given: all up to the last strong one, but at least LAST_WEAK, and one for each query. */
export function worthShowing(tools: FoundItems['tools'], most: number, queries: number): number {
  const strong = tools.findLastIndex(({ weak }, rank) => !weak && rank < most) + 1
  return Math.min(most, Math.max(strong, LAST_WEAK, queries))
}

/** Joins the hits of several queries into one answer. */
export function joinFound(found: readonly FoundItems[], limit: number): FoundItems {
  const tools = interleave(
    found.map(({ tools }) => tools),
    limit,
  )
  return {
    tools,
    extras: interleave(
      found.map(({ extras }) => extras),
      MAX_EXTRAS,
    ),
    total: Math.max(tools.filter(({ weak }) => !weak).length, ...found.map(({ total }) => total)),
    absent: [...new Set(found.flatMap(({ absent = [] }) => absent))],
  }
}

/** Searches for one query; a tool's whole path or listed name finds only that tool. */
export function findItems(
  work: Work,
  query: string,
  limit: number,
  scope: SearchScope = {},
): Promise<FoundItems> {
  const search = () => find(work, query, limit, scope)
  return work.span ? searched(work.span, search) : search()
}

async function find(work: Work, query: string, limit: number, { wanted }: SearchScope): Promise<FoundItems> {
  const { catalog, turns } = work
  const named = catalog.toolByName.get(query)
  if (named && isShown(catalog, named.server) && (wanted?.(named) ?? true))
    return { tools: [{ item: named, relevance: 1, weak: false, whole: true }], extras: [], total: 1 }
  const [vector, extraVector] = await queryVectors(work, query)
  const visible = visibleOf(catalog, wanted)
  const meaning = meaningOf(vector, catalog.vectors?.tools)
  const { hits, ...rest } = await turns(() => catalog.index.search(query, { limit, visible, meaning }))
  const tools = hits.map(hit => foundIn(catalog.tools, hit))
  if (catalog.extras.length === 0) return { tools, extras: [], ...rest }
  return { tools, extras: await turns(() => findExtras(catalog, query, extraVector, wanted)), ...rest }
}

/** Vectors for the tool index and the extra index: the text to encode differs if a word is a typo for one index but known to the other. */
async function queryVectors(
  { catalog, encodeQuery, request }: Work,
  query: string,
): Promise<(Vector | undefined)[]> {
  if (!catalog.vectors) return []
  const { index, extraIndex, extras } = catalog
  const text = index.queryText(query)
  const extraText = extras.length > 0 ? extraIndex.queryText(query) : text
  const vector = encodeQuery?.(text, request.caller.signal)
  return Promise.all([vector, extraText === text ? vector : encodeQuery?.(extraText, request.caller.signal)])
}

/** Explains why a query finds its tools, independent of the caller. */
export async function explainSearch(
  { catalog, encodeQuery }: Pick<Work, 'catalog' | 'encodeQuery'>,
  query: string,
  limit: number,
  signal: AbortSignal,
): Promise<Explanation> {
  const meaning = await meaningIn(catalog.index, catalog.vectors?.tools, query, { encodeQuery, signal })
  return catalog.index.explain(query, { limit, visible: visibleOf(catalog, undefined), meaning })
}

/** What search by meaning in one index needs; undefined if only words can be used. */
export async function meaningIn(
  index: SearchIndex,
  documents: VectorTable | undefined,
  query: string,
  { encodeQuery, signal }: Pick<Work, 'encodeQuery'> & { signal: AbortSignal },
): Promise<SearchOptions['meaning'] | undefined> {
  return documents && meaningOf(await encodeQuery?.(index.queryText(query), signal), documents)
}

function visibleOf(
  { shown, tools }: Catalog,
  wanted: SearchScope['wanted'],
): ((tool: number) => boolean) | undefined {
  if (!wanted) return shown
  return tool => (shown?.(tool) ?? true) && wanted(tools[tool] as ToolRoute)
}

function meaningOf(
  query: Vector | undefined,
  documents: VectorTable | undefined,
): SearchOptions['meaning'] | undefined {
  return query && documents && { query, documents }
}

function findExtras(
  catalog: Catalog,
  query: string,
  vector: Vector | undefined,
  wanted: SearchScope['wanted'],
): Found<Extra>[] {
  const visible = (extra: number): boolean => {
    const item = routeOf(catalog.extras[extra] as Extra)
    return isShown(catalog, item.server) && (wanted?.(item) ?? true)
  }
  const meaning = meaningOf(vector, catalog.vectors?.extras)
  const { hits } = catalog.extraIndex.search(query, { limit: EXTRAS_COMPARED, visible, meaning })
  const good = hits.filter(hit => !hit.weak && hit.relevance >= MIN_EXTRA_RELEVANCE)
  const found = good.map(hit => foundIn(catalog.extras, hit))
  return fittingExtras(query, found, MAX_EXTRAS)
}

function foundIn<T>(items: readonly T[], { document, relevance, weak }: SearchHit): Found<T> {
  return { item: items[document] as T, relevance, weak, whole: false }
}

/** The first of each list, then the second of each, and so on, without duplicates. */
function interleave<T>(lists: readonly Found<T>[][], limit: number): Found<T>[] {
  const [first, second] = lists
  if (first && !second) return first.slice(0, limit)
  const taken = new Map<T, Found<T>>()
  const longest = Math.max(...lists.map(list => list.length))
  for (let rank = 0; rank < longest; rank++)
    for (const list of lists) {
      const found = list[rank]
      if (found && !taken.has(found.item) && taken.size < limit) taken.set(found.item, found)
    }
  return [...taken.values()]
}
