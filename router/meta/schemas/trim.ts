/** Removes what does not describe arguments from a schema: the dialect, and definitions that nothing refers to. Pure. */
import { isObject, type JsonObject } from '../../../core/json.ts'
import { estimateTokens, tokensOfCut } from '../../catalog/estimate.ts'
import { withDefinitions } from './pointer.ts'

export type TrimmedSchema = { schema: JsonObject; tokens: number }

/** The share of an estimated saving that can be relied on. */
const SURE_SHARE = 0.7

/** A reference that is neither a JSON pointer nor the root: its definition cannot be determined. */
const BY_NAME = /"\$(?:ref|dynamicRef)":"(?!#(?:\/|"))/

/** Returns the same object if there is nothing to remove. `tokens`: those of the JSON text, of the given schema and of the returned one. */
export function trimSchema(schema: JsonObject, tokens: number): TrimmedSchema {
  const { $schema: dialect, ...whole } = schema
  const { $defs, definitions, ...bare } = whole
  if (!isObject($defs) && !isObject(definitions)) {
    if (dialect === undefined) return { schema, tokens }
    return {
      schema: whole,
      tokens: tokens - Math.floor(SURE_SHARE * estimateTokens(JSON.stringify({ dialect }))),
    }
  }
  const text = JSON.stringify(schema)
  const short = BY_NAME.test(text) ? whole : withDefinitions(schema, bare)
  const cut = tokensOfCut(JSON.stringify(short), { length: text.length, tokens })
  return { schema: short, tokens: Math.min(tokens, cut) }
}
