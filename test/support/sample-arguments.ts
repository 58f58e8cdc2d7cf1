/** Builds valid arguments for a tool's schema, with the required properties only. */
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { resolveReference } from '../../router/meta/schemas/pointer.ts'

export function sampleArguments(schema: JsonObject): JsonObject {
  const sample = sampleOf(schema, schema)
  return isObject(sample) ? sample : {}
}

function sampleOf(root: JsonObject, part: JsonValue | undefined): JsonValue {
  if (!isObject(part)) return 'x'
  if (part.$ref !== undefined) return sampleOf(root, resolveReference(root, part.$ref))
  if (part.const !== undefined) return part.const
  if (Array.isArray(part.enum)) return part.enum[0] ?? null
  const choice = part.anyOf ?? part.oneOf ?? part.allOf
  if (Array.isArray(choice) && part.properties === undefined) return sampleOf(root, choice[0])
  switch ([part.type].flat()[0]) {
    case 'integer':
    case 'number':
      return typeof part.minimum === 'number' ? part.minimum : 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return Array.from({ length: Number(part.minItems ?? 0) }, () => sampleOf(root, part.items))
    case 'string':
      return 'x'.repeat(Math.max(1, Number(part.minLength ?? 1)))
    default:
      return sampleObject(root, part)
  }
}

function sampleObject(root: JsonObject, { properties, required }: JsonObject): JsonObject {
  const names = Array.isArray(required) ? required.map(String) : []
  const parts = isObject(properties) ? properties : {}
  return Object.fromEntries(names.map(name => [name, sampleOf(root, parts[name])]))
}
