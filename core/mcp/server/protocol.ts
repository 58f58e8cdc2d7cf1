/** The methods that the server side answers itself: handshakes, log levels and subscriptions. */
import { createCaller } from '../caller.ts'
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../protocol/json-rpc.ts'
import { LOG_LEVELS } from '../protocol/log-levels.ts'
import { LISTEN } from '../protocol/message.ts'
import { tooLongUri } from '../protocol/uri-limits.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler, McpRequest } from './handler.ts'
import { canSubscribe, listen } from './listen.ts'
import type { PostResponse } from './post-response.ts'
import { discoverResult, initializeResult } from './reply.ts'

type Reply = McpResponse | Promise<McpResponse>

/** Answers one of these methods; undefined for any other, which the handler answers. */
export function answerProtocol(
  handler: McpHandler,
  clients: FrontClients,
  request: McpRequest,
  response: PostResponse,
): Reply | undefined {
  const isLegacy = request.caller.era === 'legacy'
  switch (request.method) {
    case 'ping':
      return isLegacy ? { result: {} } : undefined
    case 'initialize':
      return isLegacy ? describe(handler, request) : notServed()
    case 'server/discover':
      return isLegacy ? notServed() : describe(handler, request)
    case LISTEN:
      return isLegacy ? undefined : listen(handler, clients, request, response)
    case 'logging/setLevel':
      return isLegacy ? setLevel(handler, clients, request) : undefined
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return isLegacy ? subscribe(handler, clients, request) : undefined
    default:
      return undefined
  }
}

function describe(handler: McpHandler, { route, params, caller }: McpRequest): McpResponse {
  const description = handler.describe(route, caller.identity)
  if (!description) return notServed()
  const isLegacy = caller.era === 'legacy'
  return { result: isLegacy ? initializeResult(params, description) : discoverResult(description) }
}

function notServed(): McpResponse {
  return refused(METHOD_NOT_FOUND, 'Method not found')
}

function setLevel(
  handler: McpHandler,
  { levels }: FrontClients,
  { route, params: { level }, caller: { client, identity } }: McpRequest,
): McpResponse {
  if (handler.describe(route, identity)?.capabilities.logging === undefined)
    return refused(
      METHOD_NOT_FOUND,
      'logging/setLevel is not supported here: no log messages are sent to clients',
    )
  if (client === undefined)
    return refused(INVALID_REQUEST, 'logging/setLevel needs a session; initialize first')
  if (typeof level !== 'string' || !LOG_LEVELS.includes(level))
    return refused(INVALID_PARAMS, `Invalid params: level is none of ${LOG_LEVELS.join(', ')}`)
  levels.set(client, level)
  return { result: {} }
}

function subscribe(
  handler: McpHandler,
  clients: FrontClients,
  { route, method, params: { uri }, caller: { client, capabilities, identity } }: McpRequest,
): Reply {
  if (!canSubscribe(handler, handler.describe(route, identity)?.capabilities))
    return refused(INVALID_PARAMS, `${method} is not supported here: no resource reports updates`)
  if (client === undefined) return refused(INVALID_REQUEST, `${method} needs a session; initialize first`)
  if (typeof uri !== 'string') return refused(INVALID_PARAMS, 'Invalid params: uri is missing')
  const tooLong = tooLongUri(uri)
  if (tooLong !== undefined) return refused(INVALID_PARAMS, tooLong)
  const { subscriptions } = clients
  if (method === 'resources/unsubscribe') {
    subscriptions.unsubscribe(client, route, uri)
    return { result: {} }
  }
  const onUpdate = (notification: Notification) => void clients.notify(client, notification)
  // Not the caller of the request: the subscription outlives that caller's signal and response.
  const caller = createCaller({ client, capabilities, identity })
  return subscriptions.subscribe(handler, route, client, { uri, caller, onUpdate })
}

function refused(code: number, message: string): McpResponse {
  return { error: { code, message } }
}
