/** `Mcp-Param-*` headers of 2026-07-28: which arguments a tool's schema mirrors in headers, and their header values. Pure. */

import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { ownValue } from '../../own-value.ts'
import { encodeHeaderValue } from './header-value.ts'

/** An argument, by its path, that a header repeats. */
export type ParamHeader = { header: string; path: readonly string[]; numeric: boolean }

const MAX_DECLARATIONS = 64
const MAX_DEPTH = 8
const MAX_SCHEMA_DEPTH = 64
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/

/** The arguments that a schema marks with `x-mcp-header`. Invalid names, and markers not reached through `properties` alone, are ignored. */
export function paramHeadersOf(schema: JsonObject): ParamHeader[] {
  return collect(schema, [], [])
}

function collect(schema: JsonObject, path: readonly string[], found: ParamHeader[]): ParamHeader[] {
  const properties = schema.properties
  if (!isObject(properties) || path.length >= MAX_DEPTH) return found
  for (const [key, property] of Object.entries(properties)) {
    if (!isObject(property) || found.length >= MAX_DECLARATIONS) continue
    const name: JsonValue | undefined = property['x-mcp-header']
    const numeric = property.type === 'integer' || property.type === 'number'
    if (typeof name === 'string' && HEADER_NAME.test(name)) {
      found.push({ header: `Mcp-Param-${name}`, path: [...path, key], numeric })
    }
    collect(property, [...path, key], found)
  }
  return found
}

/** Keywords under which a marker is not allowed. */
const BEYOND_PROPERTIES = [
  'items',
  'additionalProperties',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  '$defs',
  'definitions',
]
const MARKABLE_TYPES: readonly (JsonValue | undefined)[] = ['string', 'integer', 'boolean']

/**
 * The first problem of a tool's markers; undefined if there is none. A 2026-07-28 client must leave out a tool with invalid markers.
 * Source: SEP-2243 and `scanXMcpHeaderDeclarations` of the 2.x SDK.
 */
export function wrongParamHeader(schema: JsonObject): string | undefined {
  return wrongIn(schema, new Set(), false, 0)
}

function wrongIn(
  schema: JsonObject,
  names: Set<string>,
  isMarkable: boolean,
  depth: number,
): string | undefined {
  if (depth > MAX_SCHEMA_DEPTH) return undefined
  if (Object.hasOwn(schema, 'x-mcp-header')) {
    const wrong = wrongMarker(schema, names, isMarkable)
    if (wrong) return wrong
  }
  const within = (schemas: unknown[], markable: boolean): string | undefined => {
    for (const inner of schemas) {
      const wrong = isObject(inner) ? wrongIn(inner, names, markable, depth + 1) : undefined
      if (wrong) return wrong
    }
    return undefined
  }
  const properties = isObject(schema.properties) ? Object.values(schema.properties) : []
  const reachable = depth === 0 || isMarkable
  return (
    within(properties, reachable) ??
    within(
      BEYOND_PROPERTIES.flatMap(key => schemasIn(schema, key)),
      false,
    )
  )
}

function wrongMarker(schema: JsonObject, names: Set<string>, isMarkable: boolean): string | undefined {
  const { 'x-mcp-header': name, type } = schema
  if (typeof name !== 'string' || !HEADER_NAME.test(name)) return 'x-mcp-header is not a valid header name'
  if (!isMarkable) return 'x-mcp-header marks something that is not a single argument'
  if (!MARKABLE_TYPES.includes(type))
    return 'x-mcp-header marks an argument that is not a string, integer or boolean'
  if (names.has(name.toLowerCase())) return 'x-mcp-header names the same header twice'
  names.add(name.toLowerCase())
  return undefined
}

function schemasIn(schema: JsonObject, key: string): unknown[] {
  const inner = schema[key]
  if (Array.isArray(inner)) return inner
  return isObject(inner) && (key === '$defs' || key === 'definitions') ? Object.values(inner) : [inner]
}

/** The value of the argument; undefined if it was not given. */
export function paramValue({ path }: ParamHeader, args: unknown): unknown {
  return path.reduce<unknown>((node, key) => (isObject(node) ? ownValue(node, key) : undefined), args)
}

/** The header text of a primitive; undefined for values that are never sent in a header. */
export function paramText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const sendable = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
  return sendable ? String(value) : undefined
}

/** The headers of one call, with names in lower case. */
export function headersOfParams(declared: readonly ParamHeader[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const declaration of declared) {
    const text = paramText(paramValue(declaration, args))
    if (text !== undefined) headers[declaration.header.toLowerCase()] = encodeHeaderValue(text)
  }
  return headers
}
