/** Formats hits within the token budget: a short line for each, schemas for the best. Pure. */
import type { Catalog, Extra } from '../../../catalog/catalog.ts'
import { estimateTokens } from '../../../catalog/estimate.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import type { Found } from '../../finding/search-catalog.ts'
import { ENDS_HERE } from '../../finding/search-request.ts'
import { foldSchema } from '../../schemas/fold.ts'
import { extraLines } from '../../wording/extra-lines.ts'
import { rounded } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { SCHEMA_KEY_TOKENS, type ToolLine, toolLines } from './tool-lines.ts'

/** Share of the budget for lines; the rest is for schemas. */
const LINES_SHARE = 0.75
/** Hits this much less relevant than the best one are seldom called: they come without a schema. */
const LEAST_SHARE_OF_BEST = 0.6
/** Share of the rest for the best hit's schema if it does not fit whole; what remains is for the following hits. */
const FOLDED_SHARE = 0.6
/** A schema folded to fewer tokens shows nothing useful. */
const LEAST_FOLDED_TOKENS = 40
/** Share of the budget to plan with: estimates may be slightly too low, and `more` needs room. */
const SAFE_SHARE = 0.94
const MORE_TOKENS = 50
/** Tokens of the budget for each repeated character of the query. */
const ECHOED_SHARE = 0.25
const LONGEST_ECHO = 500
/** Characters that quotes and commas of a list cost. */
const QUOTED_CHARACTERS = 4

export type Discovery = {
  catalog: Catalog
  tools: readonly Found<ToolRoute>[]
  extras: readonly Found<Extra>[]
  totalFound: number
  searchMs: number
  /** Whether there are more tools after these. */
  hasMore: boolean
  /** The cursor after the first `shown` tools; undefined at the end of a search. */
  cursorAfter(shown: number): string | undefined
  /** The query as it was given. */
  query: string | string[]
}

export type DiscoveryAnswer = {
  text: string
  /** Tokens of the text including schemas: estimated, except schemas, which were counted at discovery. */
  tokens: number
  schemaTokens: number
}

export function composeDiscovery(discovery: Discovery): DiscoveryAnswer {
  const { catalog, tools, totalFound, searchMs } = discovery
  const budget = catalog.config.budget.responseTokens
  const frame = {
    total_found: totalFound,
    search_time_ms: rounded(searchMs),
    query: echo(discovery.query, budget),
  }
  const needs = typeof discovery.query === 'string' ? 1 : discovery.query.length
  let room = budget * SAFE_SHARE - MORE_TOKENS - estimateTokens(JSON.stringify(frame))
  const exact = tools.some(({ whole }) => whole)
  const forSchemas = exact ? LEAST_FOLDED_TOKENS + SCHEMA_KEY_TOKENS : budget * (1 - LINES_SHARE)
  const lines = toolLines(catalog, tools, room - forSchemas)
  room -= lines.reduce((sum, { tokens }) => sum + tokens, 0)
  const extras = extraLines(discovery.extras, room - budget * (1 - LINES_SHARE))
  const { resources, prompts } = extras
  const answer = { tools: lines.map(({ line }) => line), resources, prompts, ...frame }
  const bareTokens = estimateTokens(JSON.stringify(answer))
  const schemas = addSchemas(lines, room - extras.tokens, needs)
  const left = tools.length - lines.length
  const goesOn = left > 0 || discovery.hasMore
  const nextCursor = goesOn ? discovery.cursorAfter(lines.length) : undefined
  const more = moreOf(left, schemas, goesOn && nextCursor === undefined)
  return {
    text: JSON.stringify({ ...answer, nextCursor, more }),
    tokens: bareTokens + schemas.tokens + estimateTokens(`${nextCursor ?? ''}${more ?? ''}`),
    schemaTokens: schemas.tokens,
  }
}

type Schemas = { tokens: number; folded: boolean; omitted: boolean }

/**
 * Adds schemas to lines while `room` lasts, best first (of each of the `needs` first). One that is too large is folded if it belongs to
 * the best hit or was asked for by path.
 */
function addSchemas(lines: readonly ToolLine[], room: number, needs: number): Schemas {
  const schemas: Schemas = { tokens: 0, folded: false, omitted: false }
  const best = lines[0]?.found.relevance ?? 0
  let asked = lines.filter(({ found }) => found.whole).length
  for (const [rank, { line, found }] of lines.entries()) {
    if (found.weak || (rank >= needs && found.relevance < LEAST_SHARE_OF_BEST * best)) continue
    const left = room - schemas.tokens - SCHEMA_KEY_TOKENS
    const share = found.whole ? left / asked-- : rank === 0 ? left * FOLDED_SHARE : 0
    const { schemaTokens, definition } = found.item
    if (schemaTokens > left && share < LEAST_FOLDED_TOKENS) {
      schemas.omitted = true
      continue
    }
    const most = schemaTokens <= left ? left : share
    const { schema, folded, tokens } = foldSchema(definition.inputSchema, most, schemaTokens)
    line.input_schema = schema
    schemas.folded ||= folded
    schemas.tokens += tokens + SCHEMA_KEY_TOKENS
  }
  return schemas
}

/** Says briefly what was left out and how to get it. */
function moreOf(hits: number, { folded, omitted }: Schemas, ends: boolean): string | undefined {
  const parts = [
    ...(ends ? [ENDS_HERE] : hits > 0 ? [`${hits} hits left out: go on with nextCursor`] : []),
    ...(omitted ? ['other schemas: query the tool_path'] : []),
    ...(folded ? ['folded schema: query "tool_path#/properties/NAME" for a part'] : []),
  ]
  return parts.length > 0 ? parts.join('; ') : undefined
}

/** The query as the answer repeats it; several queries share the budget. */
function echo(query: string | string[], budget: number): string | string[] {
  const most = Math.min(LONGEST_ECHO, Math.floor(budget * ECHOED_SHARE))
  if (typeof query === 'string') return shorten(query, most)
  const each = Math.max(1, Math.floor(most / query.length) - QUOTED_CHARACTERS)
  return query.map(one => shorten(one, each))
}
