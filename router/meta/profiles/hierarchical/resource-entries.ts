/** Selects the resources and templates of a list: all in order of their URIs, or the hits of a query, best first. */
import { type Catalog, isShown } from '../../../catalog/catalog.ts'
import type { ResourceRoute } from '../../../catalog/server-part.ts'
import { meaningIn } from '../../finding/search-catalog.ts'
import type { Work } from '../../meta-tool.ts'

/** A resource or template; `key` increases with the position in the list. */
export type ResourceEntry = { key: string; kind: 'resource' | 'template'; route: ResourceRoute }

const MAX_FOUND = 200
/** How many weak hits are listed if there are no others. */
const MAX_WEAK = 5
/** A query narrows the list: hits whose relevance is a smaller share of the best one are left out. */
const MIN_SHARE_OF_BEST = 0.5
const RANK_DIGITS = 4

/** All visible entries, of one server if given; resources before templates. */
export function* allEntries(catalog: Catalog, server: string | undefined): Generator<ResourceEntry> {
  for (const kind of ['resource', 'template'] as const)
    for (const route of kind === 'resource' ? catalog.resources : catalog.templates)
      if (isWanted(catalog, route, server)) yield { key: `${kind} ${route.shownUri}`, kind, route }
}

/** Hits of a query by words, and by meaning if there is an encoder; if all are weak, the first few, and `fitsNone`. */
export async function foundEntries(
  work: Work,
  query: string,
  server: string | undefined,
): Promise<{ entries: ResourceEntry[]; fitsNone: boolean }> {
  const { catalog, encodeQuery, request } = work
  const { extraIndex, extras, vectors } = catalog
  const { signal } = request.caller
  const meaning = await meaningIn(extraIndex, vectors?.extras, query, { encodeQuery, signal })
  const visible = (extra: number): boolean => {
    const entry = entryOf(catalog, extra, 0)
    return entry !== undefined && isWanted(catalog, entry.route, server)
  }
  const { hits } = extraIndex.search(query, { limit: Math.min(MAX_FOUND, extras.length), visible, meaning })
  const best = hits[0]?.relevance ?? 0
  const good = hits.filter(({ weak, relevance }) => !weak && relevance >= MIN_SHARE_OF_BEST * best)
  const fitsNone = good.length === 0
  const shown = fitsNone ? hits.slice(0, MAX_WEAK) : good
  const entries = shown.flatMap(({ document }, rank) => entryOf(catalog, document, rank) ?? [])
  return { entries, fitsNone }
}

function entryOf({ extras }: Catalog, extra: number, rank: number): ResourceEntry | undefined {
  const found = extras[extra]
  const key = String(rank).padStart(RANK_DIGITS, '0')
  if (!found || 'prompt' in found) return undefined
  return 'resource' in found
    ? { key, kind: 'resource', route: found.resource }
    : { key, kind: 'template', route: found.template }
}

function isWanted(catalog: Catalog, route: ResourceRoute, server: string | undefined): boolean {
  return (server === undefined || route.server === server) && isShown(catalog, route.server)
}
