/** The meta-tool that finds tools by a regular expression, in linear and bounded time. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RE2JS } from 're2js'
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { type Catalog, isFound } from '../../../catalog/catalog.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { HIGHEST_LIMIT, LIMIT_WRONG, limitSchema, readLimit } from '../../finding/search-request.ts'
import type { MetaTool, Work } from '../../meta-tool.ts'
import { discoveryReply, refuse } from '../../wording/answers.ts'
import { answerBudget, fitLines } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { compilePattern } from './pattern.ts'
import { toolLine } from './servers.ts'

const DEFAULT_LIMIT = 10
/** How much of a description is matched. */
const MAX_TEXT_CHARACTERS = 1_000
const MAX_DESCRIPTION_CHARACTERS = 140
/** The longest time for which matching blocks the event loop without a break, and the longest in all. */
const SLICE_MS = 5
const MAX_MS = 1_000

export const mcpSearchToolRegex: MetaTool = {
  definition: {
    name: 'mcp_search_tool_regex',
    description:
      'Find tools whose name (name, server__name or server:name) or description matches a regular expression (RE2, any case), e.g. "create.*issue".',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: limitSchema(DEFAULT_LIMIT) },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  call,
}

async function call(work: Work, { query, limit: asked }: JsonObject): Promise<McpResponse> {
  const limit = readLimit(asked, DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  if (typeof query !== 'string' || query === '')
    return refuse(work, { refusal: 'query is missing: a regular expression.', outcome: 'rejected' })
  const pattern = compilePattern(query)
  if ('refusal' in pattern) return refuse(work, pattern)
  const { catalog, observer, request } = work
  const startedMs = performance.now()
  const { tools, searched } = await matching(catalog, pattern, request.caller.signal)
  observer.searched(performance.now() - startedMs, tools.length, work)
  const lines = tools
    .slice(0, limit)
    .map(tool =>
      toolLine(catalog, tool, shorten(tool.definition.description ?? '', MAX_DESCRIPTION_CHARACTERS)),
    )
  const fitting = fitLines(lines, answerBudget(catalog))
  const shown = fitting.lines.length
  return discoveryReply(work, {
    tools: fitting.lines,
    totalCount: tools.length,
    returnedCount: shown,
    more:
      searched < catalog.tools.length
        ? `The pattern takes long: ${searched} of ${catalog.tools.length} tools were searched. Make it simpler.`
        : moreOf(tools.length - shown, shown === limit && limit < HIGHEST_LIMIT),
  })
}

/** Says how many more tools there are, and how to get them. `isLimited`: a higher limit gives more. */
function moreOf(left: number, isLimited: boolean): string | undefined {
  if (left === 0) return undefined
  return `${left} more: ${isLimited ? 'raise limit, or ' : ''}make the pattern narrower.`
}

/** Tools whose name matches, then those whose description does, each sorted by path. Lets other requests run every SLICE_MS, and stops after MAX_MS. */
async function matching(catalog: Catalog, pattern: RE2JS, signal: AbortSignal) {
  const named: ToolRoute[] = []
  const described: ToolRoute[] = []
  let searched = 0
  let spentMs = 0
  let sliceMs = performance.now()
  for (const tool of catalog.tools) {
    if (performance.now() - sliceMs > SLICE_MS) {
      spentMs += performance.now() - sliceMs
      if (spentMs > MAX_MS || signal.aborted) break
      await nextTurn()
      sliceMs = performance.now()
    }
    searched++
    if (!isFound(catalog, tool)) continue
    if (pattern.test(`${tool.tool}\n${tool.listedName}\n${tool.path}`)) named.push(tool)
    else if (pattern.test(tool.definition.description?.slice(0, MAX_TEXT_CHARACTERS) ?? ''))
      described.push(tool)
  }
  return { tools: [...named, ...described], searched }
}
