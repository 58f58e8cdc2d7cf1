/** Formats hits within the token budget: a short line for each, schemas for the best. Pure. */
import type { Catalog, Extra } from '../../../catalog/catalog.ts'
import { estimateTokens } from '../../../catalog/estimate.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { joined, type NotFound, nothingFits, remarkOn } from '../../finding/remarks.ts'
import { type Found, fitsNone } from '../../finding/search-catalog.ts'
import { ENDS_HERE } from '../../finding/search-request.ts'
import { askedTerms } from '../../schemas/asked.ts'
import { foldSchema } from '../../schemas/fold.ts'
import { type TrimmedSchema, trimSchema } from '../../schemas/trim.ts'
import { extraLines } from '../../wording/extra-lines.ts'
import { rounded, WHOLE_BUDGETS } from '../../wording/lines.ts'
import { shorten, shortenToTokens } from '../../wording/shorten.ts'
import { isFirst, MIN_SHARE_OF_BEST, schemaShares } from './schema-shares.ts'
import { SCHEMA_KEY_TOKENS, type ToolLine, toolLines } from './tool-lines.ts'

/** Share of the budget for lines; the rest is for schemas. */
const LINES_SHARE = 0.75
/** A schema folded to fewer tokens shows nothing useful. */
const MIN_FOLDED_TOKENS = 40
/** Share of the budget to plan with: estimates may be slightly too low, and `more` needs room. */
const SAFE_SHARE = 0.94
/** Tokens of `more` and `nextCursor`. */
const MORE_TOKENS = 60
/** Share of the budget for the repeated query; limits both its tokens and its characters. */
const ECHOED_SHARE = 0.25
const MAX_ECHO_CHARACTERS = 500
/** Characters that quotes and commas of a list cost. */
const QUOTED_CHARACTERS = 4

export type Discovery = {
  catalog: Catalog
  tools: readonly Found<ToolRoute>[]
  extras: readonly Found<Extra>[]
  totalFound: number
  searchMs: number
  /** How many tools came before these, on earlier pages. */
  from: number
  /** Whether there are more tools after these. */
  hasMore: boolean
  /** The cursor after the first `shown` tools; undefined at the end of a search. */
  cursorAfter(shown: number): string | undefined
  /** The query as it was given. */
  query: string | string[]
  /** What of it there is not. */
  notFound?: NotFound
}

export type DiscoveryAnswer = {
  text: string
  /** Tokens of the text including schemas: estimated, except schemas, which were counted at discovery. */
  tokens: number
  schemaTokens: number
}

/** Composes the answer. Tools requested by path are shown with their whole schemas if WHOLE_BUDGETS times the budget is enough. */
export function composeDiscovery(discovery: Discovery): DiscoveryAnswer {
  const { tools, catalog } = discovery
  const usual = catalog.config.budget.responseTokens
  const byPath = tools.length > 0 && tools.every(({ whole }) => whole)
  const whole = byPath ? compose(discovery, usual * WHOLE_BUDGETS) : undefined
  return whole?.isWhole ? whole : compose(discovery, usual)
}

/** Composes the answer within a budget in tokens. `isWhole`: every tool is there, and no schema is folded or left out. */
function compose(discovery: Discovery, budget: number): DiscoveryAnswer & { isWhole: boolean } {
  const { catalog, tools, totalFound, searchMs, notFound = {} } = discovery
  const frame = {
    total_found: totalFound,
    search_time_ms: rounded(searchMs),
    query: echo(discovery.query, budget),
  }
  const remark = remarkOn(catalog, notFound)
  const needs = Math.max([discovery.query].flat().length, tools.filter(({ whole }) => whole).length)
  let room = budget * SAFE_SHARE - MORE_TOKENS - estimateTokens(JSON.stringify(frame) + remark)
  const exact = tools.some(({ whole }) => whole)
  const forSchemas = exact ? MIN_FOLDED_TOKENS + SCHEMA_KEY_TOKENS : budget * (1 - LINES_SHARE)
  const lines = toolLines(catalog, tools, room - forSchemas, needs)
  room -= lines.reduce((sum, { tokens }) => sum + tokens, 0)
  const extras = extraLines(discovery.extras, room - budget * (1 - LINES_SHARE))
  const { resources, prompts } = extras
  const answer = { tools: lines.map(({ line }) => line), resources, prompts, ...frame }
  const bareTokens = estimateTokens(JSON.stringify(answer))
  const schemas = addSchemas(lines, room - extras.tokens, needs, askedTerms(discovery.query))
  const continues = lines.length < tools.length || discovery.hasMore
  const nextCursor = continues ? discovery.cursorAfter(lines.length) : undefined
  const left = continues ? totalFound - discovery.from - lines.length : 0
  const isNone = discovery.from === 0 && fitsNone(tools)
  const rest = continues ? restOf(left, nextCursor) : undefined
  const more = joined(remark, isNone ? nothingFits(catalog) : moreOf(rest, schemas)) || undefined
  return {
    isWhole: !schemas.folded && !schemas.omitted && lines.length === tools.length,
    text: JSON.stringify({ ...answer, nextCursor, more }),
    tokens: bareTokens + schemas.tokens + estimateTokens(`${nextCursor ?? ''}${more ?? ''}`),
    schemaTokens: schemas.tokens,
  }
}

type Schemas = { tokens: number; folded: boolean; omitted: boolean }

/** Adds schemas to lines within `room`; one that does not fit is folded. `asked`: terms of the query. */
function addSchemas(
  lines: readonly ToolLine[],
  room: number,
  needs: number,
  asked: ReadonlySet<string>,
): Schemas {
  const schemas: Schemas = { tokens: 0, folded: false, omitted: false }
  const trimmed = lines.map(({ found: { item } }) =>
    trimSchema(item.definition.inputSchema, item.schemaTokens),
  )
  const hits = lines.map(({ found: { relevance, weak } }, rank) => {
    return { relevance, weak, tokens: trimmed[rank]?.tokens ?? 0 }
  })
  const best = lines[0]?.found.relevance ?? 0
  const shares = schemaShares(hits, room, needs, SCHEMA_KEY_TOKENS)
  // The best hit comes last: it may use what the others leave of their shares, since schemas are folded in steps.
  let spare = 0
  for (const [rank, { line, found }] of [...lines.entries()].reverse()) {
    const { schema: whole, tokens: wholeTokens } = trimmed[rank] as TrimmedSchema
    const share = shares[rank] ?? 0
    const most = share > 0 ? share + spare : 0
    if (most < Math.min(wholeTokens, MIN_FOLDED_TOKENS)) {
      if (share > 0) spare = most
      schemas.omitted ||= !found.weak && (isFirst(rank, needs) || found.relevance >= MIN_SHARE_OF_BEST * best)
      continue
    }
    const { schema, folded, tokens } = foldSchema(whole, most, wholeTokens, asked)
    line.input_schema = schema
    spare = most - tokens
    schemas.folded ||= folded
    schemas.tokens += tokens + SCHEMA_KEY_TOKENS
  }
  return schemas
}

/** Says that further hits exist, and how to get them. `left`: how many strong ones. */
function restOf(left: number, nextCursor: string | undefined): string {
  if (nextCursor === undefined) return ENDS_HERE
  return left > 0 ? `${left} more: continue with nextCursor` : 'weaker ones: continue with nextCursor'
}

/** Says briefly what was left out and how to get it. */
function moreOf(rest: string | undefined, { folded, omitted }: Schemas): string | undefined {
  const parts = [
    ...(rest ? [rest] : []),
    ...(omitted ? ['other schemas: query select:PATH,PATH'] : []),
    ...(folded ? ['folded schema: query "tool_path#/properties/NAME" for a part'] : []),
  ]
  return parts.length > 0 ? parts.join('; ') : undefined
}

/** The query as the answer repeats it; several queries share the budget. */
function echo(query: string | string[], budget: number): string | string[] {
  const most = Math.min(MAX_ECHO_CHARACTERS, Math.floor(budget * ECHOED_SHARE))
  if (typeof query === 'string') return shortenToTokens(shorten(query, most), most)
  const each = Math.max(1, Math.floor(most / query.length) - QUOTED_CHARACTERS)
  return query.map(one => shortenToTokens(shorten(one, each), each))
}
