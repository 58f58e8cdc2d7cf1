/** Reduces a tool's JSON Schema, of any draft, to the rules that arguments are checked by. Pure. */

import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'

/**
 * `needs`: rules that a server cannot work without: types, required names, enums. It omits rules that servers often do not enforce, or
 * that could block the event loop: unknown names, bounds, formats, regular expressions, conditions.
 * `all`: bounds and unknown names too, to explain a call that failed.
 */
export type Rigour = 'needs' | 'all'

/** A keyword that we add to every part of a relaxed schema: the part's cost in steps, which the validator counts. */
export const STEP = 'step'

const MAX_PARTS = 400
const MAX_PART_DEPTH = 48
/** Required names beyond this number are not checked. */
const MAX_REQUIRED = 200
/** How many values of an enum, or required names, count as one step. */
const VALUES_PER_STEP = 16
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const BOUNDS = [
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const
/** In these drafts, keywords beside a reference are ignored. */
const OLD_DRAFT = /draft-0[3-7]/

/** Converts to a schema of draft 2020-12. Undefined if it is too large, too deep, or refers to something outside itself. */
export function relax(schema: JsonObject, rigour: Rigour): JsonObject | undefined {
  const { $schema } = schema
  const oldReferences = typeof $schema === 'string' && OLD_DRAFT.test($schema)
  const relaxing: Relaxing = { rigour, oldReferences, left: MAX_PARTS, unsupported: false }
  const relaxed = relaxPart(relaxing, schema, 0)
  return relaxing.unsupported ? undefined : relaxed
}

/** Names that a schema requires. One with a default is not required, although some libraries list it. */
export function requiredNames({ required, properties }: JsonObject): string[] {
  if (!Array.isArray(required)) return []
  const known = isObject(properties) ? properties : {}
  const hasDefault = (name: string): boolean => {
    const property = ownValue(known, name)
    return isObject(property) && property.default !== undefined
  }
  return required
    .filter((name): name is string => typeof name === 'string' && !hasDefault(name))
    .slice(0, MAX_REQUIRED)
}

type Relaxing = { rigour: Rigour; oldReferences: boolean; left: number; unsupported: boolean }

function relaxPart(relaxing: Relaxing, value: JsonValue | undefined, depth: number): JsonObject {
  if (--relaxing.left < 0 || depth > MAX_PART_DEPTH) relaxing.unsupported = true
  if (!isObject(value) || relaxing.unsupported) return {}
  const { $ref, $id } = value
  // Inside a part with its own $id, references resolve elsewhere.
  if (typeof $id === 'string' && depth > 0) relaxing.unsupported = true
  if (value.nullable === true && value.type === undefined)
    return {
      [STEP]: 1,
      anyOf: [{ [STEP]: 1, type: 'null' }, relaxPart(relaxing, { ...value, nullable: false }, depth)],
    }
  if ($ref === undefined)
    return { ...ownRules(relaxing, value, depth), ...innerRules(relaxing, value, depth) }
  if (typeof $ref !== 'string' || !$ref.startsWith('#')) relaxing.unsupported = true
  const { $defs, definitions, ...beside } = innerRules(relaxing, value, depth)
  const definitionParts = defined({ $defs, definitions })
  return relaxing.oldReferences
    ? { [STEP]: 1, $ref, ...definitionParts }
    : { ...ownRules(relaxing, value, depth), $ref, ...beside, ...definitionParts }
}

/** The rules of a part for the value itself, not for values in it. Enum values take precedence over a type, which sometimes contradicts them. */
function ownRules({ rigour }: Relaxing, schema: JsonObject, depth: number): JsonObject {
  const types = typesOf(schema)
  const required = requiredNames(schema)
  const values = Array.isArray(schema.enum) ? schema.enum : []
  const rules: JsonObject = { [STEP]: 1 + Math.floor((values.length + required.length) / VALUES_PER_STEP) }
  // The arguments as a whole are always an object, whatever the schema says.
  if (types.length > 0 && values.length === 0 && depth > 0) rules.type = types
  if (required.length > 0) rules.required = required
  if (values.length > 0) rules.enum = types.includes('null') ? [...new Set([...values, null])] : values
  if (schema.const !== undefined) rules.const = schema.const
  if (rigour === 'needs') return rules
  for (const bound of BOUNDS) if (typeof schema[bound] === 'number') rules[bound] = schema[bound]
  if (schema.additionalProperties === false && schema.patternProperties === undefined)
    rules.additionalProperties = false
  return rules
}

/** The types that a part allows. Empty if there are none, or one is not standard: any type is then accepted. */
function typesOf({ type, nullable }: JsonObject): JsonValue[] {
  const types = (Array.isArray(type) ? type : [type]).filter(one => one !== undefined)
  if (!types.every(one => typeof one === 'string' && TYPES.has(one))) return []
  return nullable === true && types.length > 0 ? [...new Set([...types, 'null'])] : [...new Set(types)]
}

/** The subschemas of a part. oneOf becomes anyOf: most servers accept the first match. */
function innerRules(relaxing: Relaxing, schema: JsonObject, depth: number): JsonObject {
  const { properties, patternProperties, additionalProperties, items, prefixItems, additionalItems } = schema
  const one = (value: JsonValue | undefined) =>
    isObject(value) ? relaxPart(relaxing, value, depth + 1) : undefined
  const list = (values: JsonValue | undefined) =>
    Array.isArray(values) && values.length > 0
      ? values.map(value => relaxPart(relaxing, value, depth + 1))
      : undefined
  const map = (values: JsonValue | undefined) =>
    isObject(values)
      ? Object.fromEntries(Object.keys(values).map(name => [name, one(values[name]) ?? {}]))
      : undefined
  return defined({
    properties: map(properties),
    additionalProperties: patternProperties === undefined ? one(additionalProperties) : undefined,
    prefixItems: list(prefixItems ?? items),
    items: one(Array.isArray(items) ? additionalItems : items),
    anyOf: list(schema.anyOf ?? schema.oneOf),
    allOf: list(schema.allOf),
    $defs: map(schema.$defs),
    definitions: map(schema.definitions),
  })
}

/** Without the fields that are undefined. */
function defined(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined))
}
