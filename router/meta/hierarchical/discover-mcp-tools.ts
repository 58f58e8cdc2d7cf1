/** The meta-tool that finds tools: reads the question, asks the index, leaves the answer's form to discovery-answer. */
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import type { McpReply } from '../../../core/mcp/front/handler.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type Refusal, refuse, textReply } from '../answers.ts'
import { type MetaTool, tokenRoute, type Work } from '../meta-tool.ts'
import { searchCatalog } from '../search-catalog.ts'
import { shorten } from '../shorten.ts'
import { stateRefusal } from '../targets.ts'
import { composeDiscovery } from './discovery-answer.ts'

const DEFAULT_LIMIT = 10
const HIGHEST_LIMIT = 50
const MOST_QUERIES = 10
const LONGEST_ECHO = 500

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

async function discover(work: Work, args: JsonObject): Promise<McpReply> {
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
  const found = await searchCatalog(work, queries, limit)
  const searchMs = performance.now() - startedMs
  const { tools } = found
  const answer = composeDiscovery({
    catalog,
    tools,
    extras: found.extras,
    totalFound: found.total,
    searchMs,
    query: Array.isArray(args.query) ? queries.map(echo) : echo(queries[0] as string),
  })
  observer.searched(searchMs, tools.length)
  observer.tokensServed(tokenRoute(work), 'discovery', answer.tokens - answer.schemaTokens)
  observer.tokensServed(tokenRoute(work), 'schema', answer.schemaTokens)
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
