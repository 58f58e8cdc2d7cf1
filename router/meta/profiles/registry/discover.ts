/** The meta-tool that finds tools with short descriptions, and names the categories if it finds none. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { type Catalog, isShown } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { type Found, type FoundItems, type Item, searchCatalog } from '../../finding/search-catalog.ts'
import {
  isBlank,
  LIMIT_WRONG,
  limitSchema,
  QUERY_MISSING,
  readLimit,
  readQueries,
  refusedPath,
} from '../../finding/search-request.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { discoveryReply, refuse } from '../../wording/answers.ts'
import { extraLines } from '../../wording/extra-lines.ts'
import { answerBudget, fitLines, rounded } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { categoriesOf, categoryOf, inCategory } from './categories.ts'

const DEFAULT_LIMIT = 5
const LONGEST_DESCRIPTION = 100
/** Share of the budget for categories. */
const CATEGORIES_SHARE = 0.5
const SHOWN_SERVERS = 8

export const discover: MetaTool = {
  definition: {
    name: 'discover',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need a query. Then activate them, or execute one at once. Names categories where nothing fits.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        limit: limitSchema(DEFAULT_LIMIT),
        category: { type: 'string', description: 'Only this category' },
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
  const queries = isBlank(query) ? [] : readQueries(query)
  if (!queries) return refuse(work, QUERY_MISSING)
  const limit = readLimit(args.limit, DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  if (typeof (category ?? '') !== 'string')
    return refuse(work, { refusal: 'category is no text: give a string.', outcome: 'rejected' })
  const refused = refusedPath(catalog, queries)
  if (refused) return refuse(work, refused)
  const wanted = category ? inCategory(catalog, String(category)) : undefined
  const startedMs = performance.now()
  const found =
    queries.length > 0
      ? await searchCatalog(work, queries, limit, { wanted })
      : browse(catalog, wanted, limit)
  observer.searched(performance.now() - startedMs, found.tools.length, work)
  return discoveryReply(work, compose(catalog, found, queries.length > 0 ? found.tools.length : found.total))
}

/** The first tools of a category by name; without a category, nothing but the list of categories. */
function browse(catalog: Catalog, wanted: ((item: Item) => boolean) | undefined, limit: number): FoundItems {
  const all = wanted ? catalog.tools.filter(tool => isShown(catalog, tool.server) && wanted(tool)) : []
  const tools = all.slice(0, limit).map(item => ({ item, relevance: 1, weak: false, whole: false }))
  return { tools, extras: [], total: all.length }
}

/** `all`: the number of hits, of which these tools are the first. */
function compose(catalog: Catalog, { tools, extras }: FoundItems, all: number): JsonObject {
  const budget = answerBudget(catalog)
  const isPoor = tools.every(({ weak }) => weak)
  const categories = isPoor
    ? fitLines(categoryLines(catalog), budget * CATEGORIES_SHARE)
    : { lines: undefined, tokens: 0 }
  const found = fitLines(
    tools.map(tool => toolLine(catalog, tool)),
    budget - categories.tokens,
  )
  const { resources, prompts } = extraLines(extras, budget - categories.tokens - found.tokens)
  const left = all - found.lines.length
  const more = left > 0 ? `${left} more: give a more specific query.` : undefined
  return { tools: found.lines, categories: categories.lines, resources, prompts, more }
}

function toolLine(catalog: Catalog, { item, relevance }: Found<ToolRoute>): JsonObject {
  return {
    name: item.path,
    server: item.server,
    category: categoryOf(catalog.servers.get(item.server), item.tool),
    description: shorten(item.definition.description ?? '', LONGEST_DESCRIPTION),
    relevance: rounded(relevance),
  }
}

function categoryLines(catalog: Catalog): JsonObject[] {
  return categoriesOf(catalog).map(({ category, servers, tools }) => {
    const more = servers.length - SHOWN_SERVERS
    const shown = more > 0 ? [...servers.slice(0, SHOWN_SERVERS), `and ${more} more`] : servers
    return { category, servers: shown, tools }
  })
}
