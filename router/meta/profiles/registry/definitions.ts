/** Adds the definitions of loaded tools to an answer within its token budget. Pure. */
import type { JsonObject } from '../../../../core/json.ts'
import { escapeTokens, estimateTokens, tokensOfCut } from '../../../catalog/estimate.ts'
import type { ToolRoute } from '../../../catalog/server-part.ts'
import { listedTokens } from '../../listing/listed-definition.ts'
import { foldSchema } from '../../schemas/fold.ts'
import { trimSchema } from '../../schemas/trim.ts'
import { lineCost, WHOLE_BUDGETS } from '../../wording/lines.ts'
import { shorten } from '../../wording/shorten.ts'

/** Limit for the description beside a schema that does not fit whole. */
const MAX_CUT_CHARACTERS = 400
/** A definition folded to fewer tokens shows nothing useful. */
const MIN_TOKENS = 60
/** Tokens of the sentences about what does not fit. */
const MORE_TOKENS = 70

export type ShownDefinitions = {
  definitions: JsonObject[]
  /** Where to find the definitions that did not fit. */
  more?: string
  frameTokens: number
  schemaTokens: number
}

/**
 * As many definitions as fit beside `frame`, without unused parts of their schemas; the first is folded if it does not fit. The whole
 * definition of a single requested tool may use WHOLE_BUDGETS times the budget. `areListed`: tools/list has the definitions too.
 */
export function composeDefinitions(
  tools: readonly ToolRoute[],
  frame: JsonObject,
  budget: number,
  areListed: boolean,
): ShownDefinitions {
  const frameCost = lineCost(frame)
  const definitions: JsonObject[] = []
  let schemaTokens = 0
  let hint: string | undefined
  for (const tool of tools) {
    const left = budget - frameCost - MORE_TOKENS - schemaTokens
    const most = tools.length === 1 ? left + budget * (WHOLE_BUDGETS - 1) : left
    const whole = wholeDefinition(tool)
    const fits = whole.tokens <= most
    if (!fits && (definitions.length > 0 || left < MIN_TOKENS)) break
    const shown = fits ? whole : foldedDefinition(tool, left)
    if (!fits) hint = foldedHint(tool, areListed)
    definitions.push(shown.definition)
    schemaTokens += shown.tokens
  }
  const sentences = [hint, moreSentence(tools.length - definitions.length, areListed)]
  const more = sentences.filter(Boolean).join(' ') || undefined
  return { definitions, more, frameTokens: frameCost + (more ? MORE_TOKENS : 0), schemaTokens }
}

type Shown = { definition: JsonObject; tokens: number }

function wholeDefinition(tool: ToolRoute): Shown {
  const { description } = tool.definition
  const { schema: inputSchema, tokens } = trimSchema(tool.definition.inputSchema, tool.schemaTokens)
  return {
    definition: { name: tool.listedName, description, inputSchema },
    tokens: listedTokens(tool) - tool.schemaTokens + tokens,
  }
}

function foldedDefinition(
  { listedName, definition, descriptionTokens, schemaTokens }: ToolRoute,
  budget: number,
): Shown {
  const whole = definition.description ?? ''
  const description = shorten(whole, Math.min(MAX_CUT_CHARACTERS, budget))
  const spent =
    estimateTokens(listedName) +
    tokensOfCut(description, { length: whole.length, tokens: descriptionTokens }) +
    escapeTokens(description)
  const { schema, tokens } = trimSchema(definition.inputSchema, schemaTokens)
  const folded = foldSchema(schema, budget - spent, tokens)
  return {
    definition: { name: listedName, description, inputSchema: folded.schema },
    tokens: spent + folded.tokens,
  }
}

function foldedHint({ listedName, path }: ToolRoute, areListed: boolean): string {
  return areListed
    ? `The inputSchema of ${listedName} is folded; it is whole in tools/list.`
    : `The inputSchema of ${listedName} is folded; a part in full: activate "${path}#/properties/NAME".`
}

function moreSentence(left: number, areListed: boolean): string | undefined {
  if (left === 0) return undefined
  return areListed
    ? `${left} more definitions did not fit here: they are in tools/list.`
    : `${left} more definitions did not fit here: activate those tools in a call of their own.`
}
