/** The methods that a front answers itself: they begin a session, tell what there is, or set what is told. */

import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND } from '../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../protocol/json-rpc.ts'
import { LOG_LEVELS } from '../protocol/log-levels.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler } from './handler.ts'
import type { Call } from './handling.ts'
import { canSubscribe, listen } from './listen.ts'
import type { InboundRequest } from './read-message.ts'
import { discoverResult, initializeResult } from './reply.ts'

type Reply = McpResponse | Promise<McpResponse>

/** Undefined for what is the handler's. */
export function answerProtocol(
  handler: McpHandler,
  clients: FrontClients,
  call: Call,
  message: InboundRequest,
): Reply | undefined {
  const isLegacy = message.era === 'legacy'
  switch (message.method) {
    case 'ping':
      return isLegacy ? { result: {} } : undefined
    case 'initialize':
      return describe(handler, call, isLegacy ? message : undefined)
    case 'server/discover':
      return describe(handler, call, isLegacy ? undefined : message)
    case 'subscriptions/listen':
      return isLegacy ? undefined : listen(handler, clients, call, message)
    case 'logging/setLevel':
      return isLegacy ? setLevel(handler, clients, call, message) : undefined
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return isLegacy ? subscribe(handler, clients, call, message) : undefined
    default:
      return undefined
  }
}

function describe(handler: McpHandler, { route }: Call, message: InboundRequest | undefined): McpResponse {
  const description = message && handler.describe(route)
  if (!message || !description) return refused(METHOD_NOT_FOUND, 'Method not found')
  const isLegacy = message.era === 'legacy'
  return { result: isLegacy ? initializeResult(message.params, description) : discoverResult(description) }
}

function setLevel(
  handler: McpHandler,
  { levels }: FrontClients,
  { route, client }: Call,
  { params: { level } }: InboundRequest,
): McpResponse {
  if (handler.describe(route)?.capabilities.logging === undefined)
    return refused(METHOD_NOT_FOUND, 'logging/setLevel is not served here: nothing is logged to clients')
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
  { route, client, capabilities }: Call,
  { method, params: { uri } }: InboundRequest,
): Reply {
  if (!canSubscribe(handler, handler.describe(route)?.capabilities))
    return refused(METHOD_NOT_FOUND, `${method} is not served here: no resource tells of its updates`)
  if (client === undefined) return refused(INVALID_REQUEST, `${method} needs a session; initialize first`)
  if (typeof uri !== 'string') return refused(INVALID_PARAMS, 'Invalid params: uri is missing')
  const { subscriptions } = clients
  if (method === 'resources/unsubscribe') {
    subscriptions.unsubscribe(client, route, uri)
    return { result: {} }
  }
  const onUpdate = (notification: Notification) => void clients.notify(client, notification)
  return subscriptions.subscribe(handler, route, client, { uri, client, capabilities, onUpdate })
}

function refused(code: number, message: string): McpResponse {
  return { error: { code, message } }
}
