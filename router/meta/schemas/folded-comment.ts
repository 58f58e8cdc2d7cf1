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
  const choice = schema.anyOf ?? schema.oneOf
  const options = hints > 0 && Array.isArray(choice) ? choice.slice(0, MAX_ALTERNATIVES) : []
  const parts = options.map(part => choiceHint(part, hints))
  const hint =
    parts.length > 0 && parts.every(part => part !== '') ? parts.join(' or ') : partsHint(schema, hints)
  return hint === '' ? 'folded' : `folded: ${hint}`
}

function choiceHint(part: JsonValue, hints: number): string {
  if (!isObject(part)) return ''
  const names = namesHint(part, hints)
  if (names !== '') return `{${names}}`
  return typeof part.type === 'string' ? shorten(part.type, MAX_HINT_CHARACTERS) : ''
}

/** The names of an object's properties, or of those of an array's items. */
function partsHint(schema: JsonObject, hints: number): string {
  const own = namesHint(schema, hints)
  if (own !== '' || !isObject(schema.items)) return own
  const names = namesHint(schema.items, hints)
  return names === '' ? '' : `{${names}}`
}

function namesHint(schema: JsonObject, hints: number): string {
  if (!isObject(schema.properties) || hints === 0) return ''
  const names = sortedNames(schema.properties, requiredOf(schema)).filter(
    name => name.length <= MAX_HINT_CHARACTERS,
  )
  return `${names.slice(0, hints).join(', ')}${names.length > hints ? ', …' : ''}`
}
