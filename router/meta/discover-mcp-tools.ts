/** The meta-tool that finds tools: reads the question, asks the index, leaves the answer's form to discovery-answer. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { McpReply } from '../../core/mcp/front/handler.ts'
import { type Catalog, type Extra, isShown } from '../catalog/catalog.ts'
import type { ToolRoute } from '../catalog/server-part.ts'
import { type Refusal, refuse, textReply } from './answers.ts'
import { composeDiscovery, type Found } from './discovery-answer.ts'
import type { MetaTool, Work } from './meta-tool.ts'
import { shorten } from './shorten.ts'
import { stateRefusal } from './targets.ts'

const DEFAULT_LIMIT = 10
const HIGHEST_LIMIT = 50
const MOST_QUERIES = 10
const MOST_EXTRAS = 3
const LONGEST_ECHO = 500
/** Resources and prompts are a by-product: only those that match well are worth their tokens. */
const LEAST_EXTRA_RELEVANCE = 0.5

export const discoverMcpTools: MetaTool = {
  definition: {
    name: 'discover_mcp_tools',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need a query. Answers tool_path, description and, for the best, input_schema; a tool_path as query answers its full schema. Then call execute_mcp_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        limit: { type: 'integer', minimum: 1, maximum: HIGHEST_LIMIT, default: DEFAULT_LIMIT },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  call: discover,
}

function discover(work: Work, args: JsonObject): McpReply {
  const queries = readQueries(args.query)
  if (!queries)
    return refuse(work, {
      refusal: `query is missing: a text such as "github create issue", or up to ${MOST_QUERIES} of them in an array.`,
      outcome: 'rejected',
    })
  const limit = readLimit(args.limit)
  if (!limit)
    return refuse(work, { refusal: `limit is no number: give 1 to ${HIGHEST_LIMIT}.`, outcome: 'rejected' })
  const { catalog, observer } = work
  const startedMs = performance.now()
  const refused = queries.length === 1 ? refusedPath(catalog, queries[0] as string) : undefined
  if (refused) return refuse(work, refused)
  const found = queries.map(query => find(catalog, query, limit))
  const searchMs = performance.now() - startedMs
  const tools = interleave(
    found.map(({ tools }) => tools),
    limit,
  )
  const answer = composeDiscovery({
    catalog,
    tools,
    extras: interleave(
      found.map(({ extras }) => extras),
      MOST_EXTRAS,
    ),
    totalFound: Math.max(tools.length, ...found.map(({ total }) => total)),
    searchMs,
    query: Array.isArray(args.query) ? queries.map(echo) : echo(queries[0] as string),
  })
  observer.searched(searchMs, tools.length)
  observer.tokensServed('discovery', answer.tokens - answer.schemaTokens)
  observer.tokensServed('schema', answer.schemaTokens)
  return textReply(answer.text)
}

/** A query as the answer repeats it. */
function echo(query: string): string {
  return shorten(query, LONGEST_ECHO)
}

function readQueries(query: JsonValue | undefined): string[] | undefined {
  const given = Array.isArray(query) ? query : [query]
  if (!given.every(one => typeof one === 'string')) return undefined
  const asked = given.map(one => one.trim()).filter(one => one !== '')
  return asked.length > 0 && asked.length <= MOST_QUERIES ? asked : undefined
}

/** Within 1 to 50, whatever number was asked for, in digits too. */
function readLimit(limit: JsonValue | undefined): number | undefined {
  const given = limit ?? DEFAULT_LIMIT
  const asked = typeof given === 'number' || typeof given === 'string' ? Number(given) : Number.NaN
  return Number.isNaN(asked) ? undefined : Math.min(HIGHEST_LIMIT, Math.max(1, Math.trunc(asked)))
}

/** For a path whose server cannot be used now; its bare name is a search like any other. */
function refusedPath(catalog: Catalog, query: string): Refusal | undefined {
  return /:|__/.test(query) ? stateRefusal(catalog, query) : undefined
}

type Answers = { tools: Found<ToolRoute>[]; extras: Found<Extra>[]; total: number }

function find(catalog: Catalog, query: string, limit: number): Answers {
  const named = catalog.toolByName.get(query)
  if (named && isShown(catalog, named.server))
    return { tools: [{ item: named, relevance: 1, weak: false, whole: true }], extras: [], total: 1 }
  const { hits, total } = catalog.index.search(query, { limit, visible: catalog.shown })
  const tools = hits.map(({ document, relevance, weak }) => ({
    item: catalog.tools[document] as ToolRoute,
    relevance,
    weak,
    whole: false,
  }))
  return { tools, extras: findExtras(catalog, query), total }
}

function findExtras(catalog: Catalog, query: string): Found<Extra>[] {
  if (catalog.extras.length === 0) return []
  const visible = (extra: number): boolean =>
    isShown(catalog, catalog.extraIndex.documents[extra]?.server ?? '')
  const { hits } = catalog.extraIndex.search(query, { limit: MOST_EXTRAS, visible })
  return hits
    .filter(hit => !hit.weak && hit.relevance >= LEAST_EXTRA_RELEVANCE)
    .map(({ document, relevance }) => ({
      item: catalog.extras[document] as Extra,
      relevance,
      weak: false,
      whole: false,
    }))
}

/** The first of each list, then the second of each, and so on, without repeating an item. */
function interleave<T>(lists: readonly Found<T>[][], limit: number): Found<T>[] {
  if (lists.length === 1) return (lists[0] as Found<T>[]).slice(0, limit)
  const taken = new Map<T, Found<T>>()
  const longest = Math.max(...lists.map(list => list.length))
  for (let rank = 0; rank < longest; rank++)
    for (const list of lists) {
      const found = list[rank]
      if (found && !taken.has(found.item) && taken.size < limit) taken.set(found.item, found)
    }
  return [...taken.values()]
}
