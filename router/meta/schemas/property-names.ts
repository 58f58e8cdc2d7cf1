/** The names of an object schema's properties, and which of them are required. Pure. */
import { isObject, type JsonObject } from '../../../core/json.ts'

/** Entries of `required` beyond this number are ignored. */
const MAX_REQUIRED = 200

/** The required names that the schema has properties for. */
export function requiredOf({ required, properties }: JsonObject): ReadonlySet<string> {
  const known = isObject(properties) ? properties : {}
  const names = Array.isArray(required) ? required.slice(0, MAX_REQUIRED) : []
  return new Set(
    names.filter((name): name is string => typeof name === 'string' && Object.hasOwn(known, name)),
  )
}

/** The names of the properties: required ones first, each group in the order of the schema. */
export function sortedNames(properties: JsonObject, required: ReadonlySet<string>): string[] {
  const names = Object.keys(properties)
  return [...names.filter(name => required.has(name)), ...names.filter(name => !required.has(name))]
}
