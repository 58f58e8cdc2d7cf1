/** JSON-RPC messages: what we send, and what comes, parsed once with the text of a result kept. Pure. */
import { isObject, type JsonObject, type JsonValue } from '../json.ts'
import type { JsonRpcError, Notification, UpstreamAnswer, UpstreamCall } from './upstream.ts'

export type Incoming =
  | { kind: 'answer'; id: JsonValue; answer: UpstreamAnswer }
  | { kind: 'notification'; notification: Notification }
  | { kind: 'request'; id: JsonValue; method: string; params?: JsonObject }

/** A request. A progress token is replaced by the id, which is unique where the caller's token may not be. */
export function requestMessage(id: number, method: string, params: JsonObject | undefined): JsonObject {
  const meta = params?._meta
  if (!isObject(meta) || meta.progressToken === undefined) return { jsonrpc: '2.0', id, method, params }
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...meta, progressToken: id } } }
}

/** Gives a progress notification the caller's own token back. */
export function withCallersToken(notification: Notification, call: UpstreamCall): Notification {
  const meta = call.params?._meta
  if (notification.method !== 'notifications/progress' || !isObject(meta)) return notification
  return { ...notification, params: { ...notification.params, progressToken: meta.progressToken } }
}

/**
 * The answer with this id, from text that servers usually write as `{"jsonrpc":"2.0","id":7,"result":…}` or
 * `{"result":…,"jsonrpc":"2.0","id":7}`: then only the result is parsed, and its text kept. Undefined: not of this shape.
 */
export function sliceAnswer(text: string, id: number): UpstreamAnswer | undefined {
  const slice =
    sliceBetween(text, `{"jsonrpc":"2.0","id":${id},"result":`, '}') ??
    sliceBetween(text, '{"result":', `,"jsonrpc":"2.0","id":${id}}`)
  if (slice === undefined) return undefined
  try {
    const result: unknown = JSON.parse(slice)
    if (!isObject(result)) return undefined
    // Text with line breaks could not be written into an event stream as it is.
    return slice.includes('\n') || slice.includes('\r') ? { result } : { result, resultText: slice }
  } catch {
    return undefined
  }
}

function sliceBetween(text: string, head: string, tail: string): string | undefined {
  return text.startsWith(head) && text.endsWith(tail)
    ? text.slice(head.length, text.length - tail.length)
    : undefined
}

/** The messages of a body or an event: one, or a batch as 2025-03-26 allowed. Throws SyntaxError where it is not JSON. */
export function readMessages(text: string): Incoming[] {
  const parsed: unknown = JSON.parse(text)
  const messages = Array.isArray(parsed) ? parsed : [parsed]
  return messages.map(classify).filter(message => message !== undefined)
}

/** What a parsed message is; undefined where it is no JSON-RPC. */
export function classify(message: unknown): Incoming | undefined {
  if (!isObject(message)) return undefined
  const { id, method, params, result, error } = message
  if (typeof method === 'string') {
    const said = isObject(params) ? { method, params } : { method }
    if (id !== undefined && id !== null) return { kind: 'request', id, ...said }
    return { kind: 'notification', notification: said }
  }
  if (isObject(error)) return { kind: 'answer', id: id ?? null, answer: { error: readError(error) } }
  if (isObject(result)) return { kind: 'answer', id: id ?? null, answer: { result } }
  return undefined
}

function readError(error: JsonObject): JsonRpcError {
  return {
    code: typeof error.code === 'number' ? error.code : -32603,
    message: typeof error.message === 'string' ? error.message : 'The upstream gave no message',
    ...(error.data === undefined ? {} : { data: error.data }),
  }
}

/** Our reply to a request of the upstream: we declare no capabilities, so only ping is answered. */
export function replyMessage(request: { id: JsonValue; method: string }): JsonObject {
  const { id, method } = request
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} }
  return {
    jsonrpc: '2.0',
    id,
    error: { code: -32601, message: `The client does not offer ${method.slice(0, 100)}` },
  }
}

const LIST_CHANGED = /^notifications\/(tools|resources|prompts)\/list_changed$/

/** The list that a list_changed notification is about. */
export function changedList(method: string): 'tools' | 'resources' | 'prompts' | undefined {
  return LIST_CHANGED.exec(method)?.[1] as 'tools' | 'resources' | 'prompts' | undefined
}
