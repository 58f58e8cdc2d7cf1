/** The comment on a folded part of a schema: names what is inside. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { shorten } from '../wording/shorten.ts'
import { requiredOf, sortedNames } from './property-names.ts'

/** How many alternatives describe a folded choice. */
const MAX_ALTERNATIVES = 6
const MAX_HINT_CHARACTERS = 40

/**
 * Names what is folded, so that agents know what to request: `folded: latitude, longitude` or `folded: {latitude, longitude} or string`.
 * `hints`: the limit for names of properties of one object.
 */
export function foldedComment(schema: JsonObject, hints: number): string {
  const hint = choicesHint(schema, hints) || partsHint(schema, hints)
  return hint === '' ? 'folded' : `folded: ${hint}`
}

/** The alternatives of a choice; empty if there is none, or if one of them has nothing to be named by. */
function choicesHint({ anyOf, oneOf }: JsonObject, hints: number): string {
  const choice = anyOf ?? oneOf
  if (hints === 0 || !Array.isArray(choice)) return ''
  const parts = choice.slice(0, MAX_ALTERNATIVES).map(part => choiceHint(part, hints))
  if (parts.includes('')) return ''
  return [...new Set(parts), ...(choice.length > MAX_ALTERNATIVES ? ['…'] : [])].join(' or ')
}

function choiceHint(part: JsonValue, hints: number): string {
  if (!isObject(part)) return ''
  const names = namesHint(part, hints)
  if (names !== '') return `{${names}}`
  const { const: value, type } = part
  if (value !== undefined && typeof value !== 'object')
    return shorten(JSON.stringify(value), MAX_HINT_CHARACTERS)
  return typeof type === 'string' ? shorten(type, MAX_HINT_CHARACTERS) : ''
}

/** The names of an object's properties, or of those of an array's items, or the alternatives of the items. */
function partsHint(schema: JsonObject, hints: number): string {
  const own = namesHint(schema, hints)
  if (own !== '' || !isObject(schema.items)) return own
  const names = namesHint(schema.items, hints)
  return names === '' ? choicesHint(schema.items, hints) : `{${names}}`
}

function namesHint(schema: JsonObject, hints: number): string {
  if (!isObject(schema.properties) || hints === 0) return ''
  const names = sortedNames(schema.properties, requiredOf(schema)).filter(
    name => name.length <= MAX_HINT_CHARACTERS,
  )
  return `${names.slice(0, hints).join(', ')}${names.length > hints ? ', …' : ''}`
}
