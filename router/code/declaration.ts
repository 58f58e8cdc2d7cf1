/** JSON Schemas as TypeScript, within a budget: `get_issue(args: {owner: string}): Promise<Issue>`. Pure. */

import { reveal } from '../../core/hidden-characters.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import { isNear, MAX_COMPARED, MAX_NEAR } from '../meta/schemas/asked.ts'
import { resolveReference } from '../meta/schemas/pointer.ts'
import { shorten } from '../meta/wording/shorten.ts'

/** How much of a schema is shown. `depth`: levels of nesting; deeper parts are `unknown`. */
type Detail = { depth: number; properties: number; values: number; comment: number }

/** From the finest to the coarsest. */
const DETAILS: readonly Detail[] = [
  { depth: 8, properties: 200, values: 20, comment: 120 },
  { depth: 6, properties: 100, values: 10, comment: 60 },
  { depth: 4, properties: 50, values: 6, comment: 0 },
  { depth: 2, properties: 30, values: 4, comment: 0 },
  { depth: 1, properties: 15, values: 2, comment: 0 },
]
const IDENTIFIER = /^[A-Za-z_$][\w$]{0,100}$/
/** String literals and comments. */
const NOT_STRUCTURE = /"(?:[^"\\]|\\.)*"|\/\*.*?\*\//g
const MAX_VALUE_CHARACTERS = 60
const MAX_KEY_CHARACTERS = 100
/** How many schemas are read for one declaration. */
const MAX_SCHEMAS = 2_000
const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** `name`: the beginning of the declaration, such as `tools.github.get_issue`; `asked`: terms of the query. */
export type Declared = {
  name: string
  input: JsonObject
  output?: JsonValue
  asked?: ReadonlySet<string>
}

/**
 * A declaration of at most `budget` tokens, as detailed as fits, or one without types. Values of long enums that contain a word of the
 * query are shown besides the first, if there is room. `returns`: the type of the results, with a comment if
 * it was learned from results; takes precedence over the outputSchema.
 */
export function declarationOf(
  { name, input, output, asked }: Declared,
  budget: number,
  returns?: string,
): string {
  let text = ''
  for (const detail of DETAILS) {
    const inside = typeOf(input, top(input, detail, asked))
    const args = takesNothing(input, inside) ? '' : `args${hasRequired(input) ? '' : '?'}: ${inside}`
    const result = returns ?? returned(output, detail)
    text = `${name}(${args}): ${result}`
    if (estimateTokens(text) <= budget) return text
  }
  if (asked?.size) return declarationOf({ name, input, output }, budget, returns)
  return `${name}(args: Record<string, unknown>): Promise<unknown>`
}

/** The type of the results, by the outputSchema. */
function returned(output: JsonValue | undefined, detail: Detail): string {
  if (!isObject(output)) return 'Promise<unknown>'
  const { properties } = output
  const wrapped =
    output['x-fastmcp-wrap-result'] === true && isObject(properties) ? properties.result : undefined
  return `Promise<${typeOf(wrapped ?? output, top(output, detail))}>`
}

/**
 * `asked`: terms of the query; `seen`: the enclosing schemas; `left`: how many schemas may still be read, since references can
 * multiply them.
 */
type Place = {
  root: JsonObject
  detail: Detail
  asked: ReadonlySet<string>
  seen: readonly unknown[]
  left: { schemas: number }
}

function top(root: JsonObject, detail: Detail, asked: Place['asked'] = new Set()): Place {
  return { root, detail, asked, seen: [], left: { schemas: MAX_SCHEMAS } }
}

/** The type of values that a schema describes. */
function typeOf(schema: JsonValue | undefined, place: Place): string {
  if (!isObject(schema) || place.left.schemas-- <= 0) return 'unknown'
  if (place.seen.includes(schema) || place.seen.length > 2 * place.detail.depth) return 'unknown'
  const inner = { ...place, seen: [...place.seen, schema] }
  if (typeof schema.$ref === 'string') return typeOf(resolveReference(place.root, schema.$ref), inner)
  if (schema.const !== undefined) return literal(schema.const)
  if (Array.isArray(schema.enum)) return literals(schema.enum, place)
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray)
  if (alternatives && !isObject(schema.properties))
    return union((alternatives as JsonValue[]).map(one => typeOf(one, inner)))
  if (Array.isArray(schema.allOf) && !isObject(schema.properties)) return joined(schema.allOf, inner)
  const types = [schema.type].flat().filter(type => typeof type === 'string')
  if (types.length === 0) return typeWithout(schema, inner)
  return union([
    ...types.map(type => typeFor(type, schema, inner)),
    ...(schema.nullable === true ? ['null'] : []),
  ])
}

/** The type of values that a schema without `type` describes. */
function typeWithout(schema: JsonObject, place: Place): string {
  if (isObject(schema.properties)) return objectType(schema, place)
  return schema.items !== undefined || Array.isArray(schema.prefixItems) ? listType(schema, place) : 'unknown'
}

function typeFor(type: string, schema: JsonObject, place: Place): string {
  if (type === 'object') return objectType(schema, place)
  return type === 'array' ? listType(schema, place) : (PLAIN[type] ?? 'unknown')
}

/** The type for `allOf`. */
function joined(parts: readonly JsonValue[], place: Place): string {
  const types = [...new Set(parts.map(part => typeOf(part, place)))].filter(type => type !== 'unknown')
  return types.length === 0
    ? 'unknown'
    : types.map(type => (type.includes(' | ') ? `(${type})` : type)).join(' & ')
}

function listType({ items, prefixItems }: JsonObject, place: Place): string {
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined
  if (tuple)
    return `[${tuple
      .slice(0, place.detail.values)
      .map(item => typeOf(item, place))
      .join(', ')}]`
  const item = typeOf(items, place)
  return isCompound(item) ? `(${item})[]` : `${item}[]`
}

/** Whether a type has a `|` or `&` outside of brackets, literals and comments. */
function isCompound(type: string): boolean {
  let depth = 0
  for (const [sign] of type.replace(NOT_STRUCTURE, '').matchAll(/[[\](){}<>|&]/g)) {
    if ('[({<'.includes(sign)) depth++
    else if ('])}>'.includes(sign)) depth--
    else if (depth === 0) return true
  }
  return false
}

function objectType(schema: JsonObject, place: Place): string {
  const { properties, additionalProperties: others, required } = schema
  const names = isObject(properties) ? Object.keys(properties) : []
  if (names.length === 0)
    return isObject(others) ? `Record<string, ${typeOf(others, place)}>` : 'Record<string, unknown>'
  if (place.seen.length > place.detail.depth) return 'Record<string, unknown>'
  const needed = new Set(Array.isArray(required) ? required : [])
  const ordered = [...names.filter(name => needed.has(name)), ...names.filter(name => !needed.has(name))]
  const shown = ordered.slice(0, place.detail.properties).map(name => {
    const property = (properties as JsonObject)[name]
    return `${commentOf(property, place.detail)}${keyOf(name)}${needed.has(name) ? '' : '?'}: ${typeOf(property, place)}`
  })
  const left = ordered.length - shown.length
  return `{${[...shown, ...(left > 0 ? ['[more: string]: unknown'] : [])].join('; ')}}`
}

/** The description as a comment, which no text of a server can end. */
function commentOf(property: JsonValue | undefined, { comment }: Detail): string {
  const { description } = isObject(property) ? property : {}
  if (comment === 0 || typeof description !== 'string') return ''
  const text = shorten(reveal(description).replace(/\s+/g, ' ').replaceAll('*/', '* /').trim(), comment)
  return text === '' ? '' : `/** ${text} */ `
}

/** The first values of an enum and those near the query as literals, the others by their types. */
function literals(values: readonly JsonValue[], { detail, asked }: Place): string {
  const later = values.slice(detail.values, MAX_COMPARED).filter(value => isNear(value, asked))
  const shown = new Set([...values.slice(0, detail.values), ...later.slice(0, MAX_NEAR)])
  const others = values.filter(value => !shown.has(value))
  return union([...[...shown].map(literal), ...others.map(widened)])
}

function literal(value: JsonValue): string {
  if (typeof value === 'object' && value !== null) return 'unknown'
  if (typeof value === 'string' && value.length > MAX_VALUE_CHARACTERS) return widened(value)
  const text = JSON.stringify(typeof value === 'string' ? reveal(value) : value)
  return text.length > MAX_VALUE_CHARACTERS ? widened(value) : text
}

function widened(value: JsonValue): string {
  return PLAIN[value === null ? 'null' : typeof value] ?? 'unknown'
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)]
  return distinct.includes('unknown') || distinct.length === 0 ? 'unknown' : distinct.join(' | ')
}

function keyOf(name: string): string {
  return IDENTIFIER.test(name) ? name : JSON.stringify(reveal(name.slice(0, MAX_KEY_CHARACTERS)))
}

function hasRequired({ required }: JsonObject): boolean {
  return Array.isArray(required) && required.length > 0
}

/** Whether a tool has no arguments. Schemas without properties seldom forbid others, so they have to allow them expressly. `type`: the input's. */
function takesNothing(input: JsonObject, type: string): boolean {
  const { additionalProperties: others } = input
  return type === 'Record<string, unknown>' && others !== true && !isObject(others) && !hasRequired(input)
}
