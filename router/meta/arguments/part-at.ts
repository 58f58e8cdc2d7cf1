/** Finds the part of a schema for a place in the arguments. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { ownValue } from '../../../core/own-value.ts'
import { resolveReference } from '../schemas/pointer.ts'

export const CHOICES = ['allOf', 'anyOf', 'oneOf'] as const
/** How many references and alternatives are followed to find one property. */
const MAX_HOPS = 8
/** How many references and alternatives are visited on the whole path to one argument. */
const MAX_PARTS = 1_000

/** The part of the schema at a path through the arguments, including descriptions. */
export function partAt(
  schema: JsonObject,
  args: JsonObject,
  steps: readonly string[],
): JsonObject | undefined {
  let part: JsonObject | undefined = schema
  let value: JsonValue | undefined = args
  const left = { parts: MAX_PARTS }
  for (const step of steps) {
    part = part && childPart(schema, part, step, Array.isArray(value), left)
    value = isObject(value) || Array.isArray(value) ? (value as JsonObject)[step] : undefined
  }
  return part?.$ref === undefined ? part : (resolveReference(schema, part.$ref) ?? part)
}

/** The schema of a property or item, also if a reference or an alternative of the part defines it. `left`: how many parts may still be visited. */
function childPart(
  root: JsonObject,
  part: JsonObject,
  step: string,
  inList: boolean,
  left: { parts: number },
  depth = 0,
): JsonObject | undefined {
  if (left.parts-- <= 0 || depth > MAX_HOPS) return undefined
  const { properties, additionalProperties, items, prefixItems, $ref } = part
  const direct = inList ? itemPart(items, prefixItems, Number(step)) : propertyPart(properties, step)
  if (direct) return direct
  const target = $ref === undefined ? undefined : resolveReference(root, $ref)
  const others = [...(target ? [target] : []), ...CHOICES.flatMap(key => part[key] ?? [])].filter(isObject)
  for (const other of others) {
    const found = childPart(root, other, step, inList, left, depth + 1)
    if (found) return found
  }
  return inList || !isObject(additionalProperties) ? undefined : additionalProperties
}

function propertyPart(properties: JsonValue | undefined, name: string): JsonObject | undefined {
  const part = isObject(properties) ? ownValue(properties, name) : undefined
  return isObject(part) ? part : undefined
}

/** The schema of the item at a position: before draft 2020-12, `items` could be a list of schemas by position. */
function itemPart(
  items: JsonValue | undefined,
  prefixItems: JsonValue | undefined,
  at: number,
): JsonObject | undefined {
  const first = Array.isArray(prefixItems) ? prefixItems[at] : Array.isArray(items) ? items[at] : undefined
  const part = first ?? items
  return isObject(part) ? part : undefined
}
