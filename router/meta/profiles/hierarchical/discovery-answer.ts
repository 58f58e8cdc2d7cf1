/** Puts what was found into an answer that keeps to the token budget: short lines for all, schemas for the best. Pure. */
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

/** Lines may take this share of the budget; what is left buys schemas. */
const LINES_SHARE = 0.75
/** Hits that are so much less relevant than the best one are seldom the tool that is called: they come without a schema. */
const LEAST_SHARE_OF_BEST = 0.6
/** Of what is left when the best hit's schema does not fit: the rest is for those after it. */
const FOLDED_SHARE = 0.6
/** A schema folded to less says nothing. */
const LEAST_FOLDED_TOKENS = 40
/** What is planned with: estimates may be a little too low, and `more` costs its part. */
const SAFE_SHARE = 0.94
const MORE_TOKENS = 50
/** Characters of the query that are repeated, a token of the budget. */
const ECHOED_SHARE = 0.25
const LONGEST_ECHO = 500
/** What quotes and commas of a list cost, in characters. */
const QUOTED_CHARACTERS = 4

export type Discovery = {
  catalog: Catalog
  tools: readonly Found<ToolRoute>[]
  extras: readonly Found<Extra>[]
  totalFound: number
  searchMs: number
  /** Whether there are tools behind these. */
  hasMore: boolean
  /** The cursor behind the first `shown` of the tools; undefined where a search ends. */
  cursorAfter(shown: number): string | undefined
  /** As it was asked. */
  query: string | string[]
}

export type DiscoveryAnswer = {
  text: string
  /** What the text costs, schemas included: an estimate, but for the schemas, which were counted at discovery. */
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

/** Puts schemas into the lines, best first (of each of the `needs` first), while `room` lasts; one too large is folded where it is the best or was asked for. */
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

/** What was left out and how to get it, in few words. */
function moreOf(hits: number, { folded, omitted }: Schemas, ends: boolean): string | undefined {
  const parts = [
    ...(ends ? [ENDS_HERE] : hits > 0 ? [`${hits} hits left out: go on with nextCursor`] : []),
    ...(omitted ? ['other schemas: query the tool_path'] : []),
    ...(folded ? ['folded schema: query "tool_path#/properties/NAME" for a part'] : []),
  ]
  return parts.length > 0 ? parts.join('; ') : undefined
}

/** A query as the answer repeats it; of several, each gets its share. */
function echo(query: string | string[], budget: number): string | string[] {
  const most = Math.min(LONGEST_ECHO, Math.floor(budget * ECHOED_SHARE))
  if (typeof query === 'string') return shorten(query, most)
  const each = Math.max(1, Math.floor(most / query.length) - QUOTED_CHARACTERS)
  return query.map(one => shorten(one, each))
}
