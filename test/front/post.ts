/** One POST as a bare client makes it, with the usual headers of either era. */
import { isObject, type JsonObject } from '../../core/json.ts'

export const LEGACY_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

export type Posted = { status: number; headers: Headers; text: string; json: JsonObject }

export async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...LEGACY_HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : {}
  return { status: response.status, headers: response.headers, text, json }
}

/** The JSON-RPC error of an answer, which must be one. */
export function errorOf({ json }: { json: JsonObject }): JsonObject {
  if (!isObject(json.error)) throw new Error(`no error: ${JSON.stringify(json)}`)
  return json.error
}

export function legacy(method: string, params?: JsonObject, id: string | number = 1): JsonObject {
  return { jsonrpc: '2.0', id, method, params }
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

export function modern(method: string, params: JsonObject = {}, meta: JsonObject = {}): JsonObject {
  return { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: { ...ENVELOPE, ...meta } } }
}

export function modernHeaders(method: string, name?: string): Record<string, string> {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method }
  return name === undefined ? headers : { ...headers, 'mcp-name': name }
}

/** The messages of an event stream, in order. */
export function streamed(text: string): JsonObject[] {
  return text
    .split('\n\n')
    .filter(Boolean)
    .map(frame => JSON.parse(/^event: message\ndata: (.*)$/.exec(frame)?.[1] ?? 'null') as JsonObject)
}
