/** Puts what was found into an answer that keeps to the token budget: short lines for all, schemas for the best. Pure. */
import { exposeItem } from '../../../core/catalog/expose.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Catalog, Extra } from '../../catalog/catalog.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import type { Found } from '../search-catalog.ts'
import { shorten } from '../shorten.ts'

/** The first few hits are read closely, the others skimmed. */
const CLOSE_HITS = 3
const CLOSE_CHARACTERS = 240
const SKIMMED_CHARACTERS = 140
/** Lines may take this share of the budget; what is left buys schemas. */
const LINES_SHARE = 0.75
/** Tokens of the key and the punctuation around a schema. */
const SCHEMA_KEY_TOKENS = 4

export type Discovery = {
  catalog: Catalog
  tools: readonly Found<ToolRoute>[]
  extras: readonly Found<Extra>[]
  totalFound: number
  searchMs: number
  /** As it was asked. */
  query: JsonValue
}

export type DiscoveryAnswer = {
  text: string
  /** What the text costs, schemas included: an estimate, but for the schemas, which were counted at discovery. */
  tokens: number
  schemaTokens: number
}

export function composeDiscovery(discovery: Discovery): DiscoveryAnswer {
  const { catalog, tools, extras, totalFound, searchMs, query } = discovery
  const budget = catalog.config.budget.responseTokens
  const frame = { total_found: totalFound, search_time_ms: round(searchMs), query }
  let spent = estimateTokens(JSON.stringify(frame))
  const lines: { line: JsonObject; found: Found<ToolRoute> }[] = []
  for (const found of tools) {
    const line = toolLine(catalog, found, lines.length)
    const cost = estimateTokens(JSON.stringify(line))
    if (lines.length > 0 && !found.whole && spent + cost > budget * LINES_SHARE) break
    lines.push({ line, found })
    spent += cost
  }
  const { resources, prompts, tokens: extraTokens } = extraLines(extras, budget * LINES_SHARE - spent)
  spent += extraTokens
  let schemaTokens = 0
  for (const { line, found } of lines) {
    const cost = found.item.schemaTokens + SCHEMA_KEY_TOKENS
    if (!found.whole && (found.weak || spent + schemaTokens + cost > budget)) continue
    line.input_schema = found.item.definition.inputSchema
    schemaTokens += cost
  }
  const answer = { tools: lines.map(({ line }) => line), resources, prompts, ...frame }
  return { text: JSON.stringify(answer), tokens: spent + schemaTokens, schemaTokens }
}

function toolLine(
  catalog: Catalog,
  { item, relevance, weak, whole }: Found<ToolRoute>,
  rank: number,
): JsonObject {
  const { description = '' } = item.definition
  const most = rank < CLOSE_HITS ? CLOSE_CHARACTERS : SKIMMED_CHARACTERS
  return {
    tool_path: item.path,
    description: whole ? description : shorten(description, most),
    server_name: item.server,
    transport: catalog.servers.get(item.server)?.transport,
    relevance_score: round(relevance),
    input_schema: undefined, // Its place in the order of fields; whether it comes is decided later.
    weak: weak || undefined,
    _meta: exposeItem(item.server, { _meta: item.definition._meta })._meta,
  }
}

type ExtraLines = { resources?: JsonObject[]; prompts?: JsonObject[]; tokens: number }

function extraLines(extras: readonly Found<Extra>[], budget: number): ExtraLines {
  const resources: JsonObject[] = []
  const prompts: JsonObject[] = []
  let tokens = 0
  for (const { item } of extras) {
    const line = extraLine(item)
    const cost = estimateTokens(JSON.stringify(line))
    if (tokens + cost > budget) break
    tokens += cost
    if ('prompt' in item) prompts.push(line)
    else resources.push(line)
  }
  return {
    resources: resources.length > 0 ? resources : undefined,
    prompts: prompts.length > 0 ? prompts : undefined,
    tokens,
  }
}

function extraLine(extra: Extra): JsonObject {
  if ('prompt' in extra) {
    const { path, definition } = extra.prompt
    return {
      prompt_path: path,
      description: skimmed(definition.description),
      arguments: argumentNames(definition),
    }
  }
  const [field, { shownUri, definition }] =
    'template' in extra ? (['uriTemplate', extra.template] as const) : (['uri', extra.resource] as const)
  return {
    [field]: shownUri,
    name: definition.name,
    description: skimmed(definition.description),
    mimeType: definition.mimeType,
  }
}

/** Names of a prompt's arguments; those that may be left out end with a question mark. */
function argumentNames({ arguments: args }: JsonObject): string[] | undefined {
  if (!Array.isArray(args)) return undefined
  return args.filter(isObject).map(({ name, required }) => `${name}${required === true ? '' : '?'}`)
}

function skimmed(description: JsonValue | undefined): string | undefined {
  return typeof description === 'string' ? shorten(description, SKIMMED_CHARACTERS) : undefined
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
