/** The HTTP headers of a 2026-07-28 request that repeat parts of its body (SEP-2243). Pure. */
import type { JsonObject } from '../../json.ts'
import { encodeHeaderValue } from './header-value.ts'

/** Methods whose `Mcp-Name` header repeats a field of the params, with the name of that field. */
export const NAME_FIELD: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** `Mcp-Protocol-Version`, `Mcp-Method` and, for methods of `NAME_FIELD`, `Mcp-Name`. */
export function standardHeaders(
  { method, params }: { method: string; params?: JsonObject },
  version: string,
): Record<string, string> {
  const headers: Record<string, string> = { 'mcp-protocol-version': version, 'mcp-method': method }
  const name = params?.[NAME_FIELD.get(method) ?? '']
  if (typeof name === 'string') headers['mcp-name'] = encodeHeaderValue(name)
  return headers
}
