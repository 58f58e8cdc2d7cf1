/** The meta-tool that finds tools with short descriptions, and names the categories if it finds none. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { type Catalog, isFound } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { needsOf } from '../../finding/prerequisites.ts'
import { joined, type NotFound, nothingFits, remarkOn } from '../../finding/remarks.ts'
import {
  type Found,
  type FoundItems,
  fitsNone,
  type Item,
  searchCatalog,
} from '../../finding/search-catalog.ts'
import {
  CURSOR_WRONG,
  isBlank,
  LIMIT_WRONG,
  limitSchema,
  MAX_QUERIES,
  MAX_RANK,
  QUERY_MISSING,
  readLimit,
  readQueries,
  refusedPath,
} from '../../finding/search-request.ts'
import { expandSelections, isSelection } from '../../finding/selection.ts'
import { rankAt, rankCursor } from '../../listing/pages.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { discoveryReply, refuse } from '../../wording/answers.ts'
import { extraLines } from '../../wording/extra-lines.ts'
import { answerBudget, fitLines, rounded } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { categoriesOf, categoryOf, inCategory, refusedCategory } from './categories.ts'

const DEFAULT_LIMIT = 5
const MAX_DESCRIPTION_CHARACTERS = 100
/** Share of the budget for categories. */
const CATEGORIES_SHARE = 0.5
const SHOWN_SERVERS = 8

export const discover: MetaTool = {
  definition: {
    name: 'discover',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need per query. Then activate them, or execute one at once. Names categories where nothing fits.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        limit: limitSchema(DEFAULT_LIMIT),
        category: { type: 'string', description: 'Only this category' },
        cursor: { type: 'string', description: 'nextCursor' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call,
}

async function call(work: Work, args: JsonObject): Promise<McpResponse> {
  const { catalog, observer } = work
  const { query, category } = args
  // Without a query: the categories, or the tools of one.
  const given = isBlank(query) ? [] : readQueries(query)
  if (!given) return refuse(work, QUERY_MISSING)
  const { queries, unknown, left } = expandSelections(work, given, MAX_QUERIES)
  const usual = given.some(isSelection) ? Math.max(DEFAULT_LIMIT, queries.length) : DEFAULT_LIMIT
  const limit = readLimit(args.limit, usual)
  if (!limit) return refuse(work, LIMIT_WRONG)
  if (typeof (category ?? '') !== 'string')
    return refuse(work, { refusal: 'category is no text: give a string.', outcome: 'rejected' })
  const refused =
    (category ? refusedCategory(catalog, String(category)) : undefined) ?? refusedPath(catalog, queries)
  if (refused) return refuse(work, refused)
  const asked = JSON.stringify([queries, category || ''])
  const from = args.cursor ? rankAt(args.cursor, asked) : 0
  if (from === undefined) return refuse(work, CURSOR_WRONG)
  const wanted = category ? inCategory(catalog, String(category)) : undefined
  const end = Math.min(from + limit, MAX_RANK)
  const startedMs = performance.now()
  // One hit more shows whether there is another page.
  const found =
    queries.length > 0
      ? await searchCatalog(work, queries, end + 1, { wanted })
      : browse(catalog, wanted, end + 1)
  const tools = found.tools.slice(from, end)
  observer.searched(performance.now() - startedMs, tools.length, work)
  const extras = from === 0 ? found.extras : []
  const hasMore = found.tools.length > end
  const notFound = from === 0 ? { absent: found.absent, unknown, left } : {}
  const page = { ...found, tools, extras, from, hasMore, isSearch: queries.length > 0, notFound }
  return discoveryReply(work, compose(catalog, page, asked))
}

/** The first tools of a category by name; without a category, nothing but the list of categories. */
function browse(catalog: Catalog, wanted: ((item: Item) => boolean) | undefined, limit: number): FoundItems {
  const all = wanted ? catalog.tools.filter(tool => isFound(catalog, tool) && wanted(tool)) : []
  const tools = all.slice(0, limit).map(item => ({ item, relevance: 1, weak: false, whole: false }))
  return { tools, extras: [], total: all.length }
}

type Page = FoundItems & {
  /** How many tools came before these, on earlier pages. */
  from: number
  /** Whether there are more tools after these. */
  hasMore: boolean
  /** Whether there was a query. */
  isSearch: boolean
  /** What of it there is not. */
  notFound: NotFound
}

/** `asked`: identifies the request that the cursor belongs to. */
function compose(
  catalog: Catalog,
  { tools, extras, total, from, hasMore, isSearch, notFound }: Page,
  asked: string,
): JsonObject {
  const budget = answerBudget(catalog)
  const isPoor = from === 0 && fitsNone(tools)
  const categories = isPoor
    ? fitLines(categoryLines(catalog), budget * CATEGORIES_SHARE)
    : { lines: undefined, tokens: 0 }
  const found = fitLines(
    tools.map(tool => toolLine(catalog, tool)),
    budget - categories.tokens,
  )
  const { resources, prompts } = extraLines(extras, budget - categories.tokens - found.tokens)
  const shown = from + found.lines.length
  const continues = hasMore || found.lines.length < tools.length
  const nextCursor = continues && shown < MAX_RANK ? rankCursor(shown, asked) : undefined
  const rest = total > shown ? moreOf(total - shown, nextCursor) : undefined
  const more =
    joined(remarkOn(catalog, notFound), isPoor && isSearch ? nothingFits(catalog) : rest) || undefined
  return { tools: found.lines, categories: categories.lines, resources, prompts, nextCursor, more }
}

/** Says how many more tools there are, and how to get them. */
function moreOf(left: number, nextCursor: string | undefined): string {
  const how = nextCursor === undefined ? 'choose a category' : 'continue with nextCursor'
  return `${left} more: ${how}, or give a more specific query.`
}

function toolLine(catalog: Catalog, { item, relevance, weak }: Found<ToolRoute>): JsonObject {
  return {
    name: item.path,
    server: item.server,
    category: categoryOf(catalog.servers.get(item.server), item.tool),
    description: shorten(item.definition.description ?? '', MAX_DESCRIPTION_CHARACTERS),
    relevance: rounded(relevance),
    weak: weak || undefined,
    needs: weak ? undefined : needsOf(catalog, item),
  }
}

/** A line for each category, with the first of its servers. */
function categoryLines(catalog: Catalog): JsonObject[] {
  return categoriesOf(catalog).map(({ category, servers, tools }) => {
    const more = servers.length - SHOWN_SERVERS
    const shown = more > 0 ? [...servers.slice(0, SHOWN_SERVERS), `and ${more} more`] : servers
    return { category, servers: shown, tools }
  })
}
