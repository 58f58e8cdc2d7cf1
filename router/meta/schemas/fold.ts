/** Shows a JSON Schema within a token budget: required parts first, long and deep parts as their type only, marked as folded. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { estimateTokens, tokensOfCut } from '../../catalog/estimate.ts'
import { shorten } from '../wording/shorten.ts'
import { isNear, MAX_COMPARED, MAX_NEAR } from './asked.ts'
import { foldedComment } from './folded-comment.ts'
import { resolveReference } from './pointer.ts'
import { requiredOf, sortedNames } from './property-names.ts'

export type FoldedSchema = {
  schema: JsonObject
  /** Whether parts were left out: `$comment` says where. */
  folded: boolean
  /** Tokens of its JSON text. */
  tokens: number
}

/** How much of a schema is shown. */
type Detail = {
  /** Levels of nesting: a required part uses one, an optional one two. */
  depth: number
  descriptionCharacters: number
  enumValues: number
  /** An enum of strings whose JSON is not longer is shown whole. */
  enumCharacters: number
  /** How many names of properties describe a folded object. */
  hints: number
}

/** From the finest to the coarsest, in steps small enough that a schema uses most of its budget. */
const DETAILS: readonly Detail[] = [
  { depth: 8, descriptionCharacters: 240, enumValues: 20, enumCharacters: 240, hints: 6 },
  { depth: 6, descriptionCharacters: 120, enumValues: 10, enumCharacters: 240, hints: 6 },
  { depth: 4, descriptionCharacters: 80, enumValues: 6, enumCharacters: 240, hints: 6 },
  { depth: 4, descriptionCharacters: 40, enumValues: 4, enumCharacters: 240, hints: 6 },
  { depth: 3, descriptionCharacters: 40, enumValues: 4, enumCharacters: 160, hints: 6 },
  { depth: 4, descriptionCharacters: 0, enumValues: 4, enumCharacters: 160, hints: 6 },
  { depth: 3, descriptionCharacters: 0, enumValues: 4, enumCharacters: 160, hints: 6 },
  { depth: 2, descriptionCharacters: 40, enumValues: 4, enumCharacters: 80, hints: 6 },
  { depth: 2, descriptionCharacters: 0, enumValues: 4, enumCharacters: 80, hints: 6 },
  { depth: 2, descriptionCharacters: 0, enumValues: 2, enumCharacters: 80, hints: 0 },
]
/** Keywords that are copied unchanged if their value is short. */
const SCALARS = [
  'type',
  'format',
  'const',
  'default',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
]
const MAX_SCALAR_CHARACTERS = 80
/** Before draft 2020-12, `items` could be a list of schemas by position. */
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'] as const
const SINGLES = ['items', 'additionalProperties', 'not', 'contains'] as const
/** Keywords that are never shown: a part that has one is marked as folded. */
const HIDDEN = [
  'patternProperties',
  'propertyNames',
  'if',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
] as const
/** Keywords that contain further schemas or conditions. */
const NESTING = ['properties', '$ref', ...LISTS, ...SINGLES, ...HIDDEN] as const
/** All keywords that are read. */
const READ: readonly string[] = [...SCALARS, ...NESTING, 'description', 'enum', 'required']
/** Tokens of the frame around the properties if only some of them fit. */
const FRAME_TOKENS = 30
const MAX_NAME_CHARACTERS = 200

/**
 * Returns the same object if it fits; `tokens` are those of its JSON text if known. Values of enums that contain one of the terms in
 * `asked` are shown before others. Never throws, whatever the schema. Takes time in proportion to the budget, not to the schema's depth
 * or to the expansion of its references, which are expanded only as far as they are shown.
 */
export function foldSchema(
  schema: JsonObject,
  mostTokens: number,
  tokens = estimateTokens(JSON.stringify(schema)),
  asked: ReadonlySet<string> = new Set(),
): FoldedSchema {
  if (tokens <= mostTokens) return { schema, folded: false, tokens }
  const length = JSON.stringify(schema).length
  const short = new WeakMap<object, boolean>()
  const cost = (part: JsonValue) => tokensOfCut(JSON.stringify(part), { length, tokens })
  for (const detail of DETAILS) {
    const rendering = { root: schema, detail, left: mostTokens, short, asked, enums: new WeakMap() }
    const shown = render(rendering, schema, detail.depth)
    const spent = rendering.left < 0 || !isObject(shown) ? Number.POSITIVE_INFINITY : cost(shown)
    if (spent <= mostTokens) return { schema: shown as JsonObject, folded: true, tokens: spent }
  }
  const shown = namesOnly(schema, mostTokens, cost)
  return { schema: shown, folded: true, tokens: cost(shown) }
}

type Rendering = {
  root: JsonObject
  detail: Detail
  /** How many more nodes may be rendered; each costs at least a token, so rendering more than the budget is useless. */
  left: number
  /** Caches which lists and objects are short: many references may point at the same large one. */
  short: WeakMap<object, boolean>
  /** Terms of the query. */
  asked: ReadonlySet<string>
  /** Caches what is shown of an enum, for the same reason. */
  enums: WeakMap<object, JsonObject>
}

/** Shows a schema and, up to a depth, the schemas in it. */
function render(rendering: Rendering, value: JsonValue | undefined, depth: number): JsonValue {
  if (--rendering.left < 0 || !isObject(value)) return value === false ? false : {}
  const schema = referred(rendering.root, value)
  if (depth <= 0 && hidesSomething(schema)) return renderFolded(rendering, schema)
  const rendered = leaf(rendering, schema)
  if (schema.$ref !== undefined || HIDDEN.some(key => hasParts(schema[key]))) rendered.$comment ??= 'folded'
  if (isObject(schema.properties)) renderProperties(rendering, schema, schema.properties, depth, rendered)
  for (const key of SINGLES)
    if (isObject(schema[key])) rendered[key] = render(rendering, schema[key], depth - 1)
    else if (typeof schema[key] === 'boolean' && !hasParts(schema.patternProperties))
      rendered[key] = schema[key]
  for (const key of LISTS) {
    const list = schema[key]
    if (Array.isArray(list))
      rendered[key] = renderSome(rendering, list, part => render(rendering, part, depth - 1))
  }
  return rendered
}

/** Whether folding a schema leaves something out: an object that may contain anything has no parts to request. */
function hidesSomething(schema: JsonObject): boolean {
  return NESTING.some(key => (key === '$ref' ? schema.$ref !== undefined : hasParts(schema[key])))
}

function hasParts(value: JsonValue | undefined): boolean {
  if (typeof value === 'object') for (const _ in value) return true
  return false
}

/** A schema without its parts, except the items of an array if these have no parts: they cost no more than a comment. */
function renderFolded(rendering: Rendering, schema: JsonObject): JsonObject {
  const { items, ...rest } = schema
  const rendered = leaf(rendering, schema)
  if (!isObject(items) || hidesSomething(rest) || hidesSomething(items))
    return { ...rendered, $comment: foldedComment(schema, rendering.detail.hints) }
  rendering.left--
  return { ...rendered, items: leaf(rendering, items) }
}

/** All items of a list, until the limit of nodes is reached. */
function renderSome<T>(
  rendering: Rendering,
  list: readonly T[],
  renderOne: (item: T) => JsonValue,
): JsonValue[] {
  const rendered: JsonValue[] = []
  for (const item of list) {
    if (rendering.left < 0) break
    rendered.push(renderOne(item))
  }
  return rendered
}

function renderProperties(
  rendering: Rendering,
  schema: JsonObject,
  properties: JsonObject,
  depth: number,
  into: JsonObject,
): void {
  const required = requiredOf(schema)
  const names = sortedNames(properties, required)
  const rendered = renderSome(rendering, names, name =>
    render(rendering, properties[name], depth - (required.has(name) ? 1 : 2)),
  )
  into.properties = Object.fromEntries(rendered.map((part, at) => [names[at], part]))
  if (required.size > 0) into.required = [...required]
}

/** The keywords of a schema itself, without the schemas in it. */
function leaf(rendering: Rendering, schema: JsonObject): JsonObject {
  const { detail, short } = rendering
  const shown: JsonObject = {}
  for (const key of SCALARS) {
    const value = schema[key]
    if (value !== undefined && isShort(value, short)) shown[key] = value
  }
  if (shown.type === undefined && isObject(schema.properties)) shown.type = 'object'
  if (Array.isArray(schema.required) && !isObject(schema.properties))
    Object.assign(
      shown,
      isShort(schema.required, short) ? { required: schema.required } : { $comment: 'folded' },
    )
  const { description } = schema
  if (typeof description === 'string' && detail.descriptionCharacters > 0)
    shown.description = shorten(description, detail.descriptionCharacters)
  return Array.isArray(schema.enum) ? { ...shown, ...enumOf(rendering, schema.enum) } : shown
}

function enumOf(rendering: Rendering, values: readonly JsonValue[]): JsonObject {
  const known = rendering.enums.get(values) ?? cutEnum(rendering, values)
  rendering.enums.set(values, known)
  return known
}

/** The whole enum if it is short; otherwise its first values, and those near the query. */
function cutEnum({ detail, short, asked }: Rendering, values: readonly JsonValue[]): JsonObject {
  if (isShortEnum(values, detail.enumCharacters)) return { enum: [...values] }
  const first = values.slice(0, detail.enumValues)
  const places = [...first.keys()].filter(at => isShort(values[at] as JsonValue, short))
  const later = values.slice(0, MAX_COMPARED).flatMap((value, at) => {
    return at >= first.length && isNear(value, asked) ? [at] : []
  })
  const shown = [...places, ...later.slice(0, MAX_NEAR)]
  const kept = shown.map(at => values[at] as JsonValue)
  if (kept.length === values.length) return { enum: kept }
  const next = values.findIndex((_, at) => !shown.includes(at))
  return { enum: kept, $comment: `${values.length - kept.length} more values: …/enum/${next}` }
}

function isShortEnum(values: readonly JsonValue[], most: number): boolean {
  return (
    values.length <= most &&
    values.every(value => typeof value === 'string' && value.length <= most) &&
    JSON.stringify(values).length <= most
  )
}

/** The last resort: as many properties as fit, with only their types. */
function namesOnly(schema: JsonObject, mostTokens: number, cost: (part: JsonValue) => number): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = requiredOf(schema)
  const names = sortedNames(properties, required)
  const shown: JsonObject = {}
  let left = mostTokens - FRAME_TOKENS
  for (const name of names) {
    if (left <= 0) break
    if (name.length > MAX_NAME_CHARACTERS) continue
    const part = typeOnly(schema, properties[name])
    const tokens = cost({ [name]: part }) + (required.has(name) ? cost(name) : 0)
    left -= tokens
    if (left >= 0) shown[name] = part
  }
  const given = Object.keys(shown)
  const listed = given.filter(name => required.has(name))
  return {
    type: 'object',
    ...(given.length > 0 && { properties: shown }),
    ...(listed.length > 0 && { required: listed }),
    $comment:
      given.length < names.length
        ? `folded: ${names.length - given.length} more of ${names.length} properties`
        : 'folded: only types',
  }
}

function typeOnly(root: JsonObject, value: JsonValue | undefined): JsonObject {
  if (!isObject(value)) return {}
  const { type, enum: values } = referred(root, value)
  return {
    ...(type !== undefined && isShort(type, new WeakMap()) && { type }),
    ...(Array.isArray(values) && isShortEnum(values, MAX_SCALAR_CHARACTERS) && { enum: [...values] }),
  }
}

/** A schema with its reference resolved, if possible; keywords beside the reference take precedence. */
function referred(root: JsonObject, schema: JsonObject): JsonObject {
  const target = schema.$ref === undefined ? undefined : resolveReference(root, schema.$ref)
  if (!target) return schema
  const read = READ.map(key => [key, key === '$ref' ? target.$ref : (schema[key] ?? target[key])])
  return Object.fromEntries(read)
}

function isShort(value: JsonValue, short: Rendering['short']): boolean {
  if (typeof value !== 'object' || value === null) return String(value).length <= MAX_SCALAR_CHARACTERS
  const known = short.get(value) ?? JSON.stringify(value).length <= MAX_SCALAR_CHARACTERS
  short.set(value, known)
  return known
}
