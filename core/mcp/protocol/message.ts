/** Writes and parses JSON-RPC messages; the text of a result is kept, to forward it unchanged. Pure. */

import { isDeeper } from '../../../crds/depth.ts'
import { Fault } from '../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../json.ts'
import { parseJson } from '../../parse-json.ts'
import type { Caller } from '../caller.ts'
import { INTERNAL_ERROR } from './error-codes.ts'
import type { JsonRpcError, McpResponse, Notification, RequestId } from './json-rpc.ts'

export type Incoming =
  | { kind: 'answer'; id: JsonValue; answer: McpResponse }
  | { kind: 'notification'; notification: Notification }
  | { kind: 'request'; id: RequestId; method: string; params?: JsonObject }

/** Notifications and questions whose params are nested in more levels are not passed on: JSON.stringify fails at some depth. */
export const MAX_LEVELS = 1_000

/** All messages of a batch are handled in one turn of the event loop. */
export const MAX_MESSAGES = 1_000

/**
 * The text of a request, on one line. `envelope`: the keys that 2026-07-28 requires in `_meta`. `argumentsText` is written as it is:
 * this keeps numbers beyond 2^53 exact, and saves serializing.
 */
export function requestText(
  id: number,
  { method, params, argumentsText }: { method: string; params?: JsonObject; argumentsText?: string },
  envelope?: JsonObject,
): string {
  if (argumentsText === undefined || params === undefined)
    return JSON.stringify(requestMessage(id, method, params, envelope))
  const others = JSON.stringify({ ...paramsWith(id, params, envelope), arguments: undefined })
  const comma = others === '{}' ? '' : ','
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":`
  return `${head}${others.slice(0, -1)}${comma}"arguments":${onOneLine(argumentsText)}}}`
}

function requestMessage(
  id: number,
  method: string,
  params: JsonObject | undefined,
  envelope?: JsonObject,
): JsonObject {
  return { jsonrpc: '2.0', id, method, params: paramsWith(id, params, envelope) }
}

/** Replaces a progress token by the request id: tokens of different callers may be equal. */
function paramsWith(
  id: number,
  params: JsonObject | undefined,
  envelope: JsonObject | undefined,
): JsonObject | undefined {
  const meta = isObject(params?._meta) ? params._meta : undefined
  const token = meta?.progressToken
  if (token === undefined && envelope === undefined) return params
  return {
    ...params,
    _meta: { ...meta, ...envelope, ...(token === undefined ? {} : { progressToken: id }) },
  }
}

/** JSON escapes line breaks in strings, so those in the text are only white space between tokens. */
function onOneLine(text: string): string {
  return text.includes('\n') || text.includes('\r') ? text.replace(/[\r\n]/g, ' ') : text
}

/** Forwards an upstream's notification to a caller: progress with the caller's own token, and only if it gave one. */
export function notifyCaller(
  { params, caller: { notify } }: { params?: JsonObject; caller: Caller },
  notification: Notification,
): void {
  const isProgress = notification.method === 'notifications/progress'
  const progressToken = isObject(params?._meta) ? params._meta.progressToken : undefined
  if (!isProgress) notify?.(notification)
  else if (progressToken !== undefined)
    notify?.({ ...notification, params: { ...notification.params, progressToken } })
}

/**
 * The answer with this id, if the text has one of the two usual forms `{"jsonrpc":"2.0","id":7,"result":…}` and
 * `{"result":…,"jsonrpc":"2.0","id":7}`: then only the result is parsed, and its text kept. Undefined: another form.
 * Throws Fault `upstream_too_large` if the result has too many values.
 */
export function sliceAnswer(text: string, id: number): McpResponse | undefined {
  const slice =
    sliceBetween(text, `{"jsonrpc":"2.0","id":${id},"result":`, '}') ??
    sliceBetween(text, '{"result":', `,"jsonrpc":"2.0","id":${id}}`)
  if (slice === undefined) return undefined
  try {
    const result = parseJson(slice)
    if (!isObject(result)) return undefined
    // Text with line breaks cannot be written to an event stream unchanged.
    return slice.includes('\n') || slice.includes('\r') ? { result } : { result, resultText: slice }
  } catch (error) {
    if (error instanceof Fault) throw error
    return undefined
  }
}

function sliceBetween(text: string, head: string, tail: string): string | undefined {
  return text.startsWith(head) && text.endsWith(tail)
    ? text.slice(head.length, text.length - tail.length)
    : undefined
}

/**
 * The messages of a body or an event: one, or a batch as in 2025-03-26. Throws SyntaxError if it is not JSON, and Fault
 * `upstream_too_large` if it has too many values or messages.
 */
export function readMessages(text: string): Incoming[] {
  const parsed = parseJson(text)
  const messages = Array.isArray(parsed) ? parsed : [parsed]
  if (messages.length > MAX_MESSAGES)
    throw new Fault('upstream_too_large', `The server sent more than ${MAX_MESSAGES} messages in one batch`)
  return messages.map(classify).filter(message => message !== undefined)
}

/** Classifies a parsed message; undefined if it is not JSON-RPC, or a notification that is nested too deeply. */
function classify(message: unknown): Incoming | undefined {
  if (!isObject(message)) return undefined
  const { id, method, params, result, error } = message
  if (typeof method === 'string') {
    const content = isObject(params) ? { method, params } : { method }
    if (typeof id === 'string' || typeof id === 'number') return { kind: 'request', id, ...content }
    const isNotification = (id === undefined || id === null) && !isDeeper(params, MAX_LEVELS)
    return isNotification ? { kind: 'notification', notification: content } : undefined
  }
  if (isObject(error)) return { kind: 'answer', id: id ?? null, answer: { error: readError(error) } }
  if (isObject(result)) return { kind: 'answer', id: id ?? null, answer: { result } }
  return undefined
}

function readError(error: JsonObject): JsonRpcError {
  return {
    code: typeof error.code === 'number' ? error.code : INTERNAL_ERROR,
    message: typeof error.message === 'string' ? error.message : 'The upstream gave no message',
    ...(error.data === undefined ? {} : { data: error.data }),
  }
}

/** Whether a notification reports a change of the upstream itself. Such a notification never belongs to a call, even on its stream. */
export function isChange(method: string): boolean {
  return method === RESOURCE_UPDATED || LIST_CHANGED.test(method)
}

/** The request of 2026-07-28 that stays open while its sender wants to hear of changes. */
export const LISTEN = 'subscriptions/listen'
export const RESOURCE_UPDATED = 'notifications/resources/updated'
const LIST_CHANGED = /^notifications\/(tools|resources|prompts)\/list_changed$/

/** The list that a list_changed notification is about. */
export function changedList(method: string): 'tools' | 'resources' | 'prompts' | undefined {
  return LIST_CHANGED.exec(method)?.[1] as 'tools' | 'resources' | 'prompts' | undefined
}

/** An id or a progress token as the number that we sent; some servers return it as a string. */
export function ownId(id: unknown): number | undefined {
  if (typeof id === 'number') return id
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : undefined
}

/** Whether the server asks for answers before it can give the result. */
export function wantsInput({ resultType }: JsonObject): boolean {
  return resultType === 'input_required'
}
