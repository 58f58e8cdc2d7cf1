/** The model of a form for a JSON Schema: its fields, what was typed into them, and the resulting value. Pure. */
import { exactJson, isRounded } from '../core/exact-json.ts'
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { percentDecoded } from '../core/percent-decoded.ts'

type Texts = { description?: string; title?: string }

/** The kind of a field. `json`: for schemas that no other kind fits, the value is typed as JSON, so that it is never sent with a wrong type. */
export type Field = Texts &
  (
    | { kind: 'text'; format?: string; isLong: boolean }
    | { kind: 'number'; isWhole: boolean }
    | { kind: 'choice'; values: readonly JsonValue[] }
    | { kind: 'object'; properties: readonly Property[] }
    | { kind: 'list'; item: Field }
    | { kind: 'json' }
  )
export type Property = { name: string; isRequired: boolean; field: Field }

/**
 * What was typed into a field. An empty text is absent, so that only typed values are sent. `at`: index in the values of the choice. `rest`:
 * properties that are not in the schema.
 */
export type Draft =
  | { kind: 'absent' }
  | { kind: 'typed'; text: string }
  | { kind: 'chosen'; at: number }
  | { kind: 'object'; of: ReadonlyMap<string, Draft>; rest: JsonObject }
  | { kind: 'list'; items: readonly Draft[] }
  | { kind: 'json'; text: string }

export type FormValue = { value?: JsonValue; problems: { path: string; message: string }[] }

export const ABSENT: Draft = { kind: 'absent' }

const MAX_DEPTH = 6
const MAX_FIELDS = 1_000
const MAX_PROPERTIES = 200
const MAX_VALUES = 500
const LONG_DESCRIPTION = /\b(?:content|text|body|code|query|sql|prompt|message|markdown|html)\b/i
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i
const REFERENCE = /^#(?:\/|$)/

/** `objectDepth`: deeper objects become JSON. `left`: how many more fields the form may have; without a limit, a schema whose properties refer to it has millions. */
type Making = { root: JsonObject; objectDepth: number; left: number }

/** The fields of a tool's arguments: always an object. If there are too many, the objects that are deepest within others become JSON. */
export function formOf(schema: JsonObject): Field & { kind: 'object' } {
  for (let objectDepth = MAX_DEPTH; ; objectDepth--) {
    const making = { root: schema, objectDepth, left: MAX_FIELDS }
    const field = fieldOf(making, schema, 0)
    if (making.left < 0 && objectDepth > 0) continue
    return field.kind === 'object' ? field : { kind: 'object', properties: [] }
  }
}

function fieldOf(making: Making, given: JsonValue | undefined, depth: number): Field {
  if (--making.left < 0) return { kind: 'json' }
  const schema = resolved(making.root, given)
  if (!schema || depth > MAX_DEPTH) return { kind: 'json' }
  const { title } = schema
  const description = [given, schema].map(descriptionOf).find(text => text !== undefined)
  const texts = {
    ...(typeof title === 'string' && { title }),
    ...(description !== undefined && { description }),
  }
  return { ...texts, ...kindOf(making, schema, texts, depth) }
}

function descriptionOf(schema: JsonValue | undefined): string | undefined {
  return isObject(schema) && typeof schema.description === 'string' ? schema.description : undefined
}

function kindOf(making: Making, schema: JsonObject, texts: Texts, depth: number): Field {
  if (schema.const !== undefined) return { kind: 'choice', values: [schema.const] }
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && schema.enum.length <= MAX_VALUES)
    return { kind: 'choice', values: schema.enum }
  const several = schema.anyOf ?? schema.oneOf
  if (Array.isArray(several) && several.length <= MAX_VALUES && schema.properties === undefined)
    return oneOf(making, several, depth)
  const types = [schema.type].flat().filter(type => type !== undefined && type !== 'null')
  if (types.length > 1) return { kind: 'json' }
  switch (types[0]) {
    case 'string':
      return textOf(schema, texts)
    case 'integer':
    case 'number':
      return { kind: 'number', isWhole: types[0] === 'integer' }
    case 'boolean':
      return { kind: 'choice', values: [true, false] }
    case 'array':
      return isObject(schema.items)
        ? { kind: 'list', item: fieldOf(making, schema.items, depth + 1) }
        : { kind: 'json' }
    case 'object':
    case undefined:
      return objectOf(making, schema, depth)
    default:
      return { kind: 'json' }
  }
}

/** For one kind of value, or null, a field of that kind; for constants, a choice among them; otherwise JSON. */
function oneOf(making: Making, several: readonly JsonValue[], depth: number): Field {
  const parts = several.filter(part => resolved(making.root, part)?.type !== 'null')
  const fields = parts.map(part => fieldOf(making, part, depth + 1))
  const [first] = fields
  if (first && fields.length === 1) return first
  if (fields.length === 0 || !fields.every(field => field.kind === 'choice')) return { kind: 'json' }
  return { kind: 'choice', values: fields.flatMap(field => (field.kind === 'choice' ? field.values : [])) }
}

function textOf({ format, maxLength }: JsonObject, { title, description }: Texts): Field {
  const words = `${title ?? ''} ${description ?? ''}`
  const isLong = format === undefined && !(Number(maxLength) < 120) && LONG_DESCRIPTION.test(words)
  return { kind: 'text', isLong, ...(typeof format === 'string' && { format }) }
}

function objectOf(making: Making, schema: JsonObject, depth: number): Field {
  if (!isObject(schema.properties) || depth > making.objectDepth) return { kind: 'json' }
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const all = Object.entries(schema.properties).map(([name, part]) => ({
    name,
    part,
    isRequired: required.has(name),
  }))
  const shown = all.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired)).slice(0, MAX_PROPERTIES)
  return {
    kind: 'object',
    properties: shown.map(({ name, part, isRequired }) => ({
      name,
      isRequired,
      field: fieldOf(making, part, depth + 1),
    })),
  }
}

/** The schema, or the one that its local reference refers to; undefined if there is none. It is not copied, since it may be large. */
function resolved(root: JsonObject, given: JsonValue | undefined): JsonObject | undefined {
  let schema = given
  for (let times = 0; times < MAX_DEPTH; times++) {
    if (!isObject(schema)) return undefined
    const { $ref } = schema
    if ($ref === undefined) return schema
    if (typeof $ref !== 'string' || !REFERENCE.test($ref)) return undefined
    schema = referenced(root, $ref)
  }
  return undefined
}

/** The object that a local reference (`#/$defs/a`) points to; undefined if there is none. */
function referenced(root: JsonObject, reference: string): JsonObject | undefined {
  const steps = reference.slice(2).split('/').filter(Boolean)
  let part: JsonValue | undefined = root
  for (const step of steps) {
    const key = (percentDecoded(step) ?? step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(part)) part = part[Number(key)]
    else part = isObject(part) && Object.hasOwn(part, key) ? part[key] : undefined
  }
  return isObject(part) ? part : undefined
}

/** An empty form. It contains required objects, so that their fields are shown. */
export function emptyDraft(field: Field, isRequired = true): Draft {
  if (field.kind !== 'object' || !isRequired) return ABSENT
  const of = field.properties.map(
    ({ name, isRequired, field }) => [name, emptyDraft(field, isRequired)] as const,
  )
  return { kind: 'object', of: new Map(of), rest: {} }
}

/** The draft that results in this value. A value that does not fit its field becomes JSON, so that every value can be shown. */
export function draftOf(field: Field, value: JsonValue | undefined): Draft {
  if (value === undefined) return ABSENT
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' && value !== '' ? { kind: 'typed', text: value } : jsonDraft(value)
    case 'number':
      return typeof value === 'number' &&
        (!field.isWhole || Number.isInteger(value)) &&
        NUMBER.test(`${value}`)
        ? { kind: 'typed', text: `${value}` }
        : jsonDraft(value)
    case 'choice': {
      const at = field.values.findIndex(one => canonicalJson(one) === canonicalJson(value))
      return at < 0 ? jsonDraft(value) : { kind: 'chosen', at }
    }
    case 'list':
      return Array.isArray(value)
        ? { kind: 'list', items: value.map(item => draftOf(field.item, item)) }
        : jsonDraft(value)
    case 'object':
      return isObject(value) ? objectDraft(field.properties, value) : jsonDraft(value)
    case 'json':
      return jsonDraft(value)
  }
}

function objectDraft(properties: readonly Property[], value: JsonObject): Draft {
  const known = new Set(properties.map(({ name }) => name))
  const of = properties.map(
    ({ name, field }) =>
      [name, draftOf(field, Object.hasOwn(value, name) ? value[name] : undefined)] as const,
  )
  const rest = Object.entries(value).filter(([name]) => !known.has(name))
  return { kind: 'object', of: new Map(of), rest: Object.fromEntries(rest) }
}

function jsonDraft(value: JsonValue): Draft {
  return { kind: 'json', text: JSON.stringify(value, null, 2) }
}

/** The value of a draft, and the problems with what was typed. */
export function valueIn(field: Field, draft: Draft, path = ''): FormValue {
  switch (draft.kind) {
    case 'absent':
      return { problems: [] }
    case 'typed':
      return typedValue(field, draft.text, path)
    case 'chosen':
      return { value: field.kind === 'choice' ? field.values[draft.at] : undefined, problems: [] }
    case 'json':
      return jsonValue(draft.text, path)
    case 'list': {
      const item = field.kind === 'list' ? field.item : ({ kind: 'json' } as const)
      const made = draft.items.map((one, at) =>
        required(valueIn(item, one, `${path}[${at}]`), `${path}[${at}]`),
      )
      return {
        value: made.map(({ value }) => value ?? null),
        problems: made.flatMap(({ problems }) => problems),
      }
    }
    case 'object':
      return objectValue(field, draft, path)
  }
}

function objectValue(field: Field, { of, rest }: Draft & { kind: 'object' }, path: string): FormValue {
  const properties = field.kind === 'object' ? field.properties : []
  const made = properties.map(({ name, isRequired, field }) => {
    const place = path === '' ? name : `${path}.${name}`
    const one = valueIn(field, of.get(name) ?? ABSENT, place)
    return [name, isRequired ? required(one, place) : one] as const
  })
  const given = made.flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value] as const]))
  return {
    value: Object.fromEntries([...given, ...Object.entries(rest)]),
    problems: made.flatMap(([, { problems }]) => problems),
  }
}

/** Adds a problem if the value is missing. */
function required(made: FormValue, path: string): FormValue {
  if (made.value !== undefined || made.problems.length > 0) return made
  return { problems: [{ path, message: 'is required' }] }
}

function typedValue(field: Field, text: string, path: string): FormValue {
  if (text === '') return { problems: [] }
  if (field.kind !== 'number') return { value: text, problems: [] }
  const value = Number(text)
  if (!NUMBER.test(text.trim()) || !Number.isFinite(value)) return wrong(path, 'is not a number')
  if (field.isWhole && !Number.isInteger(value)) return wrong(path, 'is not a whole number')
  return isRounded(text.trim()) ? wrong(path, 'is too large: it would be rounded') : { value, problems: [] }
}

function jsonValue(text: string, path: string): FormValue {
  if (text.trim() === '') return { problems: [] }
  try {
    return { value: exactJson(text), problems: [] }
  } catch (error) {
    return wrong(path, error instanceof RangeError ? 'has a number that would be rounded' : 'is not JSON')
  }
}

function wrong(path: string, message: string): FormValue {
  return { problems: [{ path, message }] }
}
