/** The meta-tool discover_mcp_tools: reads the query and searches; discovery-answer formats the answer. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { type FoundItems, searchCatalog, worthShowing } from '../../finding/search-catalog.ts'
import {
  CURSOR_WRONG,
  LIMIT_WRONG,
  limitSchema,
  MAX_QUERIES,
  MAX_RANK,
  QUERY_MISSING,
  readLimit,
  readQueries,
  refusedPath,
} from '../../finding/search-request.ts'
import { expandSelections } from '../../finding/selection.ts'
import { rankAt, rankCursor } from '../../listing/pages.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { findPart } from '../../schemas/part-of-tool.ts'
import { refuse, schemaReply } from '../../wording/answers.ts'
import { composeDiscovery } from './discovery-answer.ts'

const DEFAULT_LIMIT = 10

export const discoverMcpTools: MetaTool = {
  definition: {
    name: 'discover_mcp_tools',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need per query. Answers tool_path, description and, for the best, input_schema; a tool_path as query answers its full schema. Then call execute_mcp_tool.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        limit: limitSchema(DEFAULT_LIMIT),
        cursor: { type: 'string', description: 'nextCursor' },
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  call: discover,
}

async function discover(work: Work, args: JsonObject): Promise<McpResponse> {
  const given = readQueries(args.query) ?? []
  const { queries, unknown, left } = expandSelections(work, given, MAX_QUERIES)
  if (queries.length === 0) return refuse(work, QUERY_MISSING)
  const limit = readLimit(args.limit, DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  const asked = JSON.stringify(queries)
  const from = args.cursor ? rankAt(args.cursor, asked) : 0
  if (from === undefined) return refuse(work, CURSOR_WRONG)
  const { catalog, observer } = work
  const startedMs = performance.now()
  const refused = refusedPath(catalog, queries)
  if (refused) return refuse(work, refused)
  const part = queries.length === 1 ? findPart(work, queries[0] as string) : undefined
  if (part && 'refusal' in part) return refuse(work, part)
  const end = Math.min(from + limit, MAX_RANK)
  // One hit more shows whether there is another page.
  const found = part ? onlyPart(part) : await searchCatalog(work, queries, end + 1)
  const searchMs = performance.now() - startedMs
  const isUsualFirstPage = args.limit === undefined && from === 0
  const to = isUsualFirstPage ? worthShowing(found.tools, end, queries.length) : end
  const tools = found.tools.slice(from, to)
  const discovery = {
    catalog,
    tools,
    extras: from === 0 ? found.extras : [],
    from,
    hasMore: found.tools.length > from + tools.length,
    cursorAfter: (shown: number) => (from + shown < MAX_RANK ? rankCursor(from + shown, asked) : undefined),
    totalFound: found.total,
    searchMs,
    query: Array.isArray(args.query) ? given : (given[0] as string),
    notFound: from === 0 ? { absent: found.absent, unknown, left } : {},
  }
  const answer = await work.turns(() => composeDiscovery(discovery))
  observer.searched(searchMs, tools.length, work)
  const { text, tokens, schemaTokens } = answer
  return schemaReply(work, text, tokens - schemaTokens, schemaTokens)
}

/** The result of a search that found only this tool, whose schema is the requested part. */
function onlyPart(item: ToolRoute): FoundItems {
  return { tools: [{ item, relevance: 1, weak: false, whole: true }], extras: [], total: 1 }
}
