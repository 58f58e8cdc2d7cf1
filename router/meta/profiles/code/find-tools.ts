/** The meta-tool of the code profile that finds tools and returns them as declarations. */
import type { JsonObject } from '../../../../core/json.ts'
import type { McpResponse } from '../../../../core/mcp/protocol/json-rpc.ts'
import { estimateTokens } from '../../../catalog/estimate.ts'
import { findDeclarations } from '../../../code/declarations.ts'
import { NOTHING_FITS } from '../../finding/search-catalog.ts'
import {
  LIMIT_WRONG,
  limitSchema,
  QUERY_MISSING,
  readLimit,
  readQueries,
} from '../../finding/search-request.ts'
import { type MetaTool, tokenRoute, type Work } from '../../meta-tool.ts'
import { refuse, textReply } from '../../wording/answers.ts'

const DEFAULT_LIMIT = 8

export const findTools: MetaTool = {
  definition: {
    name: 'find_tools',
    description:
      'Find tools by what you need: product + verb + object, e.g. "github create issue". One need a query. Answers declarations to call in run_mcp_script.',
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
  const queries = readQueries(args.query)
  if (!queries) return refuse(work, QUERY_MISSING)
  const limit = readLimit(args.limit, DEFAULT_LIMIT)
  if (!limit) return refuse(work, LIMIT_WRONG)
  if (!code) return refuse(work, { refusal: 'Scripts are not run here.', outcome: 'rejected' })
  // A script that calls the found tools is likely to follow.
  work.scripts?.warm()
  const found = await findDeclarations(work, code, queries, limit)
  const text = declarationsText(found, budget.responseTokens)
  work.observer.tokensServed(tokenRoute(work), 'discovery', estimateTokens(text))
  return textReply(text)
}

type Declaration = Awaited<ReturnType<typeof findDeclarations>>[number]

/** As many declarations as fit, but at least one, each after its description as a comment. */
function declarationsText(found: readonly Declaration[], budget: number): string {
  if (found.length === 0) return NOTHING_FITS
  const lines: string[] = []
  let tokens = 0
  for (const { description, declaration } of found) {
    const line = `${description === '' ? '' : `// ${description.replace(/\s+/g, ' ')}\n`}${declaration}`
    tokens += estimateTokens(line) + 1
    if (tokens > budget && lines.length > 0) break
    lines.push(line)
  }
  const left = found.length - lines.length
  return [...lines, ...(left > 0 ? [`// ${left} more: narrow the query.`] : [])].join('\n')
}
