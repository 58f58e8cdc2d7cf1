/** The lines of found tools in a discovery answer, without their schemas, and their token costs. Pure. */
import { exposeItem } from '../../../../core/catalog/expose.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../../core/json.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { escapeTokens, tokensOfCut } from '../../../catalog/estimate.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { needsOf } from '../../finding/prerequisites.ts'
import type { Found } from '../../finding/search-catalog.ts'
import { lineCost, rounded } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'
import { isFirst } from './schema-shares.ts'

/** Tokens of the key and punctuation around a schema. */
export const SCHEMA_KEY_TOKENS = 4

export type ToolLine = { line: JsonObject; found: Found<ToolRoute>; tokens: number }

/** The first hits get longer descriptions than the rest. */
const FIRST_HITS_CHARACTERS = 130
const OTHER_HITS_CHARACTERS = 60
/** For a tool requested by path: share of the room that the description may take at the expense of the schema. */
const WHOLE_DESCRIPTION_SHARE = 0.4
const MAX_META_TOKENS = 30
/** Safety margin: a cut text may cost slightly more than its share of the whole. */
const CUT_SHARE = 0.9
/** How much of a long description is read. */
const MAX_READ_CHARACTERS = 16_384
const MIN_DESCRIPTION_CHARACTERS = 40

/**
 * As many lines as `room` allows, best first, but at least one, which is shortened if necessary. Hits after the first ones (of `needs`
 * queries) have short lines: their path names the server too.
 */
export function toolLines(
  catalog: Catalog,
  tools: readonly Found<ToolRoute>[],
  room: number,
  needs: number,
): ToolLine[] {
  const lines: ToolLine[] = []
  const wholes = tools.filter(({ whole }) => whole).length
  let spent = 0
  for (const found of tools) {
    const each = room / Math.max(1, wholes)
    let next = toolLine(catalog, found, isFirst(lines.length, needs), each)
    if (lines.length === 0 && next.tokens > room && !found.whole) next = toolLine(catalog, found, false, each)
    spent += next.tokens
    if (lines.length > 0 && spent > room) break
    lines.push(next)
  }
  return lines
}

/** The line of one hit. `first`: whether it gets a longer description; `room`: tokens for it, including its schema. */
function toolLine(catalog: Catalog, found: Found<ToolRoute>, first: boolean, room: number): ToolLine {
  const { item, relevance, weak } = found
  const { _meta: meta } = item.definition
  const isLong = first || found.whole
  const line: JsonObject = {
    tool_path: item.path,
    description: '',
    server_name: isLong ? item.server : undefined,
    transport: isLong ? catalog.servers.get(item.server)?.transport : undefined,
    relevance_score: rounded(relevance),
    input_schema: undefined, // Fixes the position of the field; its value is set later.
    weak: weak || undefined,
    needs: isLong && !weak ? needsOf(catalog, item) : undefined,
    _meta: exposeItem(item.server, { _meta: weak ? undefined : shownMeta(meta, found.whole) })._meta,
  }
  const frameTokens = lineCost(line)
  const description = describe(found, first, room - frameTokens)
  return { line: { ...line, description }, found, tokens: frameTokens + descriptionCost(description, item) }
}

/** For an exact path the whole description if its schema fits too; otherwise shortened to leave room for the schema. */
function describe({ item, whole }: Found<ToolRoute>, first: boolean, room: number): string {
  const { description = '' } = item.definition
  const most = first ? FIRST_HITS_CHARACTERS : OTHER_HITS_CHARACTERS
  if (!whole) return description.length <= most ? description : shorten(oneLine(description), most)
  const left = Math.max(room - item.schemaTokens - SCHEMA_KEY_TOKENS, room * WHOLE_DESCRIPTION_SHARE)
  if (descriptionCost(description, item) <= left) return description
  const dense = oneLine(description)
  const share = (left * CUT_SHARE) / descriptionCost(dense, item)
  return shorten(dense, Math.max(MIN_DESCRIPTION_CHARACTERS, Math.floor(dense.length * share)))
}

/** Tokens of a tool's description, or of what is left of it after it was cut. */
function descriptionCost(cut: string, { definition, descriptionTokens }: ToolRoute): number {
  const { description = '' } = definition
  const whole = { length: description.length, tokens: descriptionTokens }
  return tokensOfCut(cut, whole) + escapeTokens(cut)
}

/** The page that shows the tool's results; for a tool requested by path its whole _meta if this is small. */
function shownMeta(meta: JsonValue | undefined, whole: boolean): JsonObject | undefined {
  if (!isObject(meta)) return undefined
  if (whole && lineCost(meta) <= MAX_META_TOKENS) return meta
  const kept = Object.entries(meta).filter(([key]) => key === 'ui/resourceUri')
  const { ui } = meta
  if (isObject(ui) && ui.resourceUri !== undefined) kept.push(['ui', { resourceUri: ui.resourceUri }])
  return kept.length > 0 ? Object.fromEntries(kept) : undefined
}

/** Without line breaks and indentation, which cost tokens and say little. */
function oneLine(text: string): string {
  return text.slice(0, MAX_READ_CHARACTERS).replaceAll(/\s+/g, ' ').trim()
}
