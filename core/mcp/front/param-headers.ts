/** `Mcp-Param-*` headers of 2026-07-28: arguments that a tool's schema wants repeated in a header must agree. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { decodeHeaderValue, headerOf, type RequestHeaders } from './headers.ts'
import { type Rejected, type RequestId, rejectMismatch } from './rejection.ts'

type Declaration = { header: string; path: string[]; numeric: boolean }

const MAX_DECLARATIONS = 64
const MAX_DEPTH = 8
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/
const DECIMAL = /^-?\d+(\.\d+)?$/

/**
 * 400 and −32020 where an argument that the schema marks with `x-mcp-header` has no header or another value there.
 * Source: SEP-2243 and `validateMcpParamHeaders` of the 2.x SDK; a marker that is no header name is not enforced.
 */
export function checkParamHeaders(
  headers: RequestHeaders,
  id: RequestId,
  schema: JsonObject,
  args: unknown,
): Rejected | undefined {
  for (const declaration of declarations(schema, [], [])) {
    const value = declaration.path.reduce<unknown>(
      (node, key) => (isObject(node) ? node[key] : undefined),
      args,
    )
    const problem = disagreement(headers, declaration, value)
    if (problem) return rejectMismatch(id, declaration.header, problem)
  }
  return undefined
}

function disagreement(
  headers: RequestHeaders,
  { header, path, numeric }: Declaration,
  value: unknown,
): string | undefined {
  const text = headerText(value)
  if (text === undefined) return undefined
  const body = `the body carries ${path.join('.')}=${JSON.stringify(value)}`
  const given = headerOf(headers, header.toLowerCase())
  if (given === undefined) return `${body} but the ${header} header is absent`
  const decoded = decodeHeaderValue(given)
  if (decoded === undefined) return `the ${header} header carries an invalid Base64 sentinel value`
  const equal = numeric && DECIMAL.test(decoded) ? Number(decoded) === value : decoded === text
  return equal ? undefined : `the ${header} header decodes to ${JSON.stringify(decoded)} but ${body}`
}

/** What a header says for a primitive; undefined for what is never sent in one. */
function headerText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const sendable = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value)
  return sendable ? String(value) : undefined
}

/** Only what is reached through `properties` counts. */
function declarations(schema: JsonObject, path: string[], found: Declaration[]): Declaration[] {
  const properties = schema.properties
  if (!isObject(properties) || path.length >= MAX_DEPTH) return found
  for (const [key, property] of Object.entries(properties)) {
    if (!isObject(property) || found.length >= MAX_DECLARATIONS) continue
    const name: JsonValue | undefined = property['x-mcp-header']
    const numeric = property.type === 'integer' || property.type === 'number'
    if (typeof name === 'string' && HEADER_NAME.test(name)) {
      found.push({ header: `Mcp-Param-${name}`, path: [...path, key], numeric })
    }
    declarations(property, [...path, key], found)
  }
  return found
}
