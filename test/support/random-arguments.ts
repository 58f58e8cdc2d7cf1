/** Generates random arguments for a tool's schema: respects bounds, choices and references, and adds an unknown property if allowed. */
import fc from 'fast-check'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { resolveReference } from '../../router/meta/schemas/pointer.ts'

/** Strings that look like other types, as in real arguments. */
const TEXTS = ['x', '5', 'true', 'null', '{"a":1}', '[1,2]', '', 'a, b', 'ÄÖ☃', '-3.5e2', '2024-01-01', ' ']
/** A property name that is in no schema and not similar to one. */
const UNKNOWN = 'zzz_unknown'
const MAX_DEPTH = 6

/** Most arguments are valid. Some are not, because contradictory bounds are not resolved. */
export function randomArguments(schema: JsonObject): fc.Arbitrary<JsonObject> {
  return partOf(schema, schema, 0).map(value => (isObject(value) ? value : {}))
}

function partOf(root: JsonObject, part: JsonValue | undefined, depth: number): fc.Arbitrary<JsonValue> {
  if (!isObject(part)) return anything
  if (part.$ref !== undefined) return partOf(root, resolveReference(root, part.$ref), depth + 1)
  if (part.const !== undefined) return fc.constant(part.const)
  if (Array.isArray(part.enum)) return fc.constantFrom(...part.enum)
  const choice = part.anyOf ?? part.oneOf
  if (Array.isArray(choice) && part.properties === undefined)
    return fc.oneof(...choice.map(one => partOf(root, one, depth + 1)))
  return fc.oneof(...[part.type].flat().map(type => typeOf(root, part, type, depth)))
}

function typeOf(
  root: JsonObject,
  part: JsonObject,
  type: JsonValue | undefined,
  depth: number,
): fc.Arbitrary<JsonValue> {
  const bound = (name: string, other: number) => (typeof part[name] === 'number' ? part[name] : other)
  const min = Math.ceil(bound('minimum', bound('exclusiveMinimum', -1_001) + 1))
  const max = Math.floor(bound('maximum', bound('exclusiveMaximum', min + 2_001) - 1))
  const items = { minLength: bound('minItems', 0), maxLength: bound('maxItems', bound('minItems', 0) + 3) }
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min, max })
    case 'number':
      return fc.oneof(fc.integer({ min, max }), fc.double({ min, max, noNaN: true }))
    case 'string':
      return fc
        .constantFrom(...TEXTS)
        .map(text => text.padEnd(bound('minLength', 0), 'y').slice(0, bound('maxLength', 100)))
    case 'array':
      return fc.array(partOf(root, part.items, depth + 1), depth > MAX_DEPTH ? { maxLength: 0 } : items)
    default:
      return objectOf(root, part, depth)
  }
}

function objectOf(
  root: JsonObject,
  { properties, required, additionalProperties: more }: JsonObject,
  depth: number,
): fc.Arbitrary<JsonObject> {
  const needed = Array.isArray(required) ? required.map(String) : []
  const known = Object.entries(isObject(properties) ? properties : {}).filter(
    ([name]) => depth <= MAX_DEPTH || needed.includes(name),
  )
  const parts = Object.fromEntries(known.map(([name, part]) => [name, partOf(root, part, depth + 1)]))
  if (more !== false) parts[UNKNOWN] = partOf(root, more, depth + 1)
  const requiredKeys = needed.filter(name => Object.hasOwn(parts, name))
  return fc.record(parts, { noNullPrototype: true, requiredKeys })
}

const anything: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant({ arguments: { a: 1 } }),
)
