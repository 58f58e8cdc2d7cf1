/** The meta-tool of the code profile that finds tools and returns them as declarations. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { estimateTokens } from '../../../catalog/estimate.ts'
import { type FoundDeclaration, findDeclarations } from '../../../code/declarations.ts'
import { nothingFits, remarkOn } from '../../finding/remarks.ts'
import {
  HIGHEST_LIMIT,
  LIMIT_WRONG,
  limitSchema,
  MAX_QUERIES,
  QUERY_MISSING,
  readLimit,
  readQueries,
} from '../../finding/search-request.ts'
import { expandSelections, isSelection } from '../../finding/selection.ts'
import { type MetaTool, tokenRoute, type Work } from '../../meta-tool.ts'
import { refuse, textReply } from '../../wording/answers.ts'

const DEFAULT_LIMIT = 8

export const findTools: MetaTool = {
  definition: {
    name: 'find_tools',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need per query. Answers declarations to call in run_mcp_script.',
    inputSchema: {
      type: 'object',
      properties: { query: { type: 'string' }, limit: limitSchema(DEFAULT_LIMIT) },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  call: find,
}

async function find(work: Work, args: JsonObject): Promise<McpResponse> {
  const { code, budget } = work.catalog.config
  const given = readQueries(args.query)
  if (!given) return refuse(work, QUERY_MISSING)
  const { queries, unknown, left } = expandSelections(work, given, MAX_QUERIES)
  if (queries.length === 0) return refuse(work, QUERY_MISSING)
  const limit = readLimit(args.limit, given.some(isSelection) ? MAX_QUERIES : DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  if (!code) return refuse(work, { refusal: 'Scripts are not run here.', outcome: 'rejected' })
  // A script that calls the found tools is likely to follow.
  work.scripts?.warm()
  const { found, total, absent } = await findDeclarations(work, code, queries, limit)
  const remark = remarkOn(work.catalog, { absent, unknown, left })
  const nothing = () => nothingFits(work.catalog)
  const declarations = declarationsText(found, total, { limit, budget: budget.responseTokens, nothing })
  const text = `${remark ? `// ${remark}\n` : ''}${declarations}`
  work.observer.tokensServed(tokenRoute(work), 'discovery', estimateTokens(text))
  return textReply(text)
}

/** As many declarations as fit, but at least one; if all are weak, only their names, after the sentence of `nothing`. */
export function declarationsText(
  found: readonly FoundDeclaration[],
  total: number,
  { limit, budget, nothing }: { limit: number; budget: number; nothing: () => string },
): string {
  const isNone = found.every(({ weak }) => weak)
  const lines = isNone ? [found.length === 0 ? nothing() : `// ${nothing()}`] : []
  let tokens = 0
  let shown = 0
  for (const one of found) {
    const line = one.weak ? `// weak: ${one.path}` : declarationText(one)
    tokens += estimateTokens(line) + 1
    if (tokens > budget && shown > 0) break
    lines.push(line)
    shown++
  }
  const how =
    shown === limit && limit < HIGHEST_LIMIT ? 'narrow the query, or raise limit' : 'narrow the query'
  if (total > shown) lines.push(`// ${total - shown} more: ${how}.`)
  return lines.join('\n')
}

/** A declaration after its description, and the tools to call first, as comments. */
function declarationText({ description, declaration, needs }: FoundDeclaration): string {
  const comments = [description.replace(/\s+/g, ' '), needs ? `needs ${needs.join(', ')}` : '']
  return [...comments.filter(Boolean).map(comment => `// ${comment}`), declaration].join('\n')
}
