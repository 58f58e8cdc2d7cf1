/** The meta-tool that searches tools by words, selects them by name, or pages through those of a server. */
import type { JsonObject, JsonValue } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { findCalled } from '../../calling/find-called.ts'
import { needsOf } from '../../finding/prerequisites.ts'
import { joined, nothingFits, remarkOn } from '../../finding/remarks.ts'
import { type FoundItems, fitsNone, worthShowing } from '../../finding/search-catalog.ts'
import {
  CURSOR_WRONG,
  ENDS_HERE,
  isBlank,
  LIMIT_WRONG,
  limitSchema,
  MAX_RANK,
  QUERY_MISSING,
  readLimit,
  readQueries,
  refusedPath,
} from '../../finding/search-request.ts'
import { isMissingPath, isSelection } from '../../finding/selection.ts'
import { pageOf } from '../../listing/pages.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { discoveryReply, refuse } from '../../wording/answers.ts'
import { extraLines } from '../../wording/extra-lines.ts'
import { answerBudget, fitNames, lineCost } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { listTools, type Ranking, rankTools } from './ranking.ts'
import { readServerScope, toolLine } from './servers.ts'

const DEFAULT_LIMIT = 10
const OPERATIONS: JsonValue[] = ['search', 'list']
const FIRST_HITS = 3
const FIRST_HITS_CHARACTERS = 240
const OTHER_HITS_CHARACTERS = 140
const MAX_LIST_DESCRIPTION_CHARACTERS = 100
const LISTS_ALL = 'No tool holds the words of the query: all are listed.'
/** Share of the answer for names that were not found. */
const MISSING_SHARE = 0.25

export const mcpSearchTools: MetaTool = {
  definition: {
    name: 'mcp_search_tools',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need per query. +word must occur; select:name,name picks by exact name. operation list pages through a server\'s tools.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string' },
        operation: { type: 'string', enum: OPERATIONS, default: 'search' },
        serverId: { type: 'string' },
        serverName: { type: 'string', description: 'Part of it' },
        limit: limitSchema(DEFAULT_LIMIT),
        cursor: { type: 'string', description: 'nextCursor of the page before' },
      },
    },
    annotations: { readOnlyHint: true },
  },
  call,
}

async function call(work: Work, args: JsonObject): Promise<McpResponse> {
  const { query, operation } = args
  const limit = readLimit(args.limit, DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  const scope = readServerScope(work.catalog, args)
  if ('refusal' in scope) return refuse(work, scope)
  if (!OPERATIONS.includes(operation ?? 'search'))
    return refuse(work, { refusal: 'operation is "search" or "list".', outcome: 'rejected' })
  const cursor = args.cursor || undefined
  const blank = isBlank(query)
  const queries = blank ? [] : readQueries(query)
  // A request with a server but without a query wants a list of its tools.
  const lists = operation === 'list' || (blank && (scope.includes !== undefined || cursor !== undefined))
  const isList = lists && !queries?.some(isSelection)
  if (!queries || (blank && !isList)) return refuse(work, QUERY_MISSING)
  const asked = JSON.stringify([isList, queries, args.serverId || '', args.serverName || ''])
  if (isList) {
    const { tools, isAll } = listTools(work.catalog, queries, scope)
    const shown = { tools, total: tools.length, more: isAll ? LISTS_ALL : undefined }
    return answer(work, shown, { limit, cursor, asked, keyOf: pathOf })
  }
  const refused = refusedPath(work.catalog, queries)
  if (refused) return refuse(work, refused)
  const startedMs = performance.now()
  const depth = cursor === undefined ? limit + 1 : MAX_RANK
  const ranking = await rankTools(work, queries, depth, scope)
  work.observer.searched(performance.now() - startedMs, ranking.found.tools.length, work)
  const unknown = queries.filter(one => isMissingPath(work, one))
  const isUsual = args.limit === undefined && cursor === undefined && !queries.some(hasRequired)
  const most = isUsual ? worthShowing(ranking.found.tools, limit, queries.length) : limit
  return answerRanking(work, ranking, unknown, { limit: most, cursor, asked })
}

/** Whether a query may have required words, of which all tools that hold them are wanted. */
function hasRequired(query: string): boolean {
  return query.includes('+')
}

/** `asked`: identifies the request that a cursor belongs to. */
type Paging = { limit: number; cursor: JsonValue | undefined; asked: string }

/** `unknown`: queries that are the path of no tool. */
function answerRanking(
  work: Work,
  { found, notFound }: Ranking,
  unknown: readonly string[],
  paging: Paging,
): McpResponse {
  const [missing] = notFound
  if (missing !== undefined && found.tools.length === 0) {
    const called = findCalled(work, missing)
    if ('refusal' in called) return refuse(work, called)
  }
  for (const text of notFound) work.observer.missed(work, { kind: 'name', text })
  const tools = found.tools.map(({ item }) => item)
  const rankOf = new Map(tools.map((tool, rank) => [tool, String(rank).padStart(6, '0')]))
  const keyOf = (tool: ToolRoute): string => rankOf.get(tool) as string
  const extras = paging.cursor === undefined ? found.extras : []
  const weak = new Set(found.tools.filter(one => one.weak).map(({ item }) => item))
  const isNone = paging.cursor === undefined && notFound.length === 0 && fitsNone(found.tools)
  const missed = paging.cursor === undefined ? { absent: found.absent, unknown } : {}
  const more =
    joined(remarkOn(work.catalog, missed), isNone ? nothingFits(work.catalog) : undefined) || undefined
  return answer(work, { tools, weak, total: found.total, extras, notFound, more }, { ...paging, keyOf })
}

/** `total`: how many tools there are in all; `weak`: those of `tools` that are weak hits. */
type Shown = {
  tools: readonly ToolRoute[]
  weak?: ReadonlySet<ToolRoute>
  total: number
  extras?: FoundItems['extras']
  notFound?: readonly string[]
  more?: string
}

function answer(
  work: Work,
  { tools, weak, total, extras = [], notFound = [], more }: Shown,
  { limit, cursor, asked, keyOf }: Paging & { keyOf: (tool: ToolRoute) => string },
): McpResponse {
  const { catalog } = work
  const budget = answerBudget(catalog)
  const missing = fitNames(notFound, budget * MISSING_SHARE)
  const lines: JsonObject[] = []
  let tokens = lineCost({ missing })
  const isListed = keyOf === pathOf
  const fits = (tool: ToolRoute, count: number): boolean => {
    const line: JsonObject = toolLine(catalog, tool, described(tool, count, isListed))
    if (weak?.has(tool)) line.weak = true
    else if (!isListed) line.needs = needsOf(catalog, tool)
    const cost = lineCost(line)
    const doesFit = count < limit && tokens + cost <= budget
    if (doesFit || count === 0) {
      lines.push(line)
      tokens += cost
    }
    return doesFit
  }
  const page = pageOf(tools, keyOf, cursor, fits, asked)
  if (!page) return refuse(work, CURSOR_WRONG)
  const { resources, prompts } = extraLines(extras, budget - tokens)
  return discoveryReply(work, {
    tools: lines,
    totalCount: total,
    returnedCount: lines.length,
    nextCursor: page.nextCursor ?? null,
    notFound: missing.length > 0 ? missing : undefined,
    resources,
    prompts,
    more: !page.nextCursor && tools.length < total ? ENDS_HERE : more,
  })
}

/** A tool's description, cut to the length for its rank. */
function described({ definition }: ToolRoute, rank: number, isListed: boolean): string {
  const most = isListed
    ? MAX_LIST_DESCRIPTION_CHARACTERS
    : rank < FIRST_HITS
      ? FIRST_HITS_CHARACTERS
      : OTHER_HITS_CHARACTERS
  return shorten(definition.description ?? '', most)
}

function pathOf({ path }: ToolRoute): string {
  return path
}
