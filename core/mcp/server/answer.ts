/** Answers one checked request of either era: what belongs to the protocol here, the rest by the handler. Never throws. */

import { Fault } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { INTERNAL_ERROR, TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse } from '../protocol/json-rpc.ts'
import { wantsInput } from '../protocol/message.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler, McpRoute } from './handler.ts'
import { type Call, canBeAsked, handle } from './handling.ts'
import { unaskableInput } from './input-rounds.ts'
import { answerProtocol } from './protocol.ts'
import type { InboundRequest } from './read-message.ts'
import {
  type CachePolicy,
  eraError,
  errorStatus,
  errorText,
  legacyResultText,
  modernResultText,
} from './reply.ts'
import { pagesToVisit } from './url-elicitation.ts'

export type Answer = { status: number; text: string }

/** Meta-tools are the same for everyone and hardly ever change. */
const META_TOOLS_CACHE: CachePolicy = { ttlMs: 5 * 60_000, cacheScope: 'public' }
const DISCOVER_CACHE: CachePolicy = { ttlMs: 60_000, cacheScope: 'private' }

export async function answer(
  { handler, clients, log }: { handler: McpHandler; clients: FrontClients; log: Log },
  call: Call,
  message: InboundRequest,
): Promise<Answer> {
  try {
    const reply = await (answerProtocol(handler, clients, call, message) ??
      handle(handler, clients, call, message))
    return message.era === 'legacy'
      ? legacyAnswer(message, reply)
      : modernAnswer(handler, call.route, message, asQuestion(reply, message, clients))
  } catch (error) {
    // Nobody answered a question, or whoever asked is gone; every other fault is a reply already.
    if (error instanceof Fault) return errorAnswer(message, faultError(error))
    log.error({ err: error, method: message.method }, 'request failed unexpectedly')
    return errorAnswer(message, { code: INTERNAL_ERROR, message: 'Internal error' })
  }
}

function legacyAnswer(message: InboundRequest, reply: McpResponse): Answer {
  if (reply.error) return errorAnswer(message, reply.error)
  return { status: 200, text: legacyResultText(message.id, reply) }
}

function modernAnswer(
  handler: McpHandler,
  route: McpRoute,
  message: InboundRequest,
  reply: McpResponse,
): Answer {
  if (reply.error) return errorAnswer(message, reply.error)
  const { id, method, capabilities } = message
  const refused = wantsInput(reply.result) ? unaskableInput(reply.result, capabilities) : undefined
  if (refused) return errorAnswer(message, refused)
  const serverInfo = handler.describe(route)?.serverInfo
  return { status: 200, text: modernResultText(id, method, reply, serverInfo, cachePolicy(route, method)) }
}

/** An error that is a question in the newer era. */
function asQuestion(
  reply: McpResponse,
  { method, capabilities }: InboundRequest,
  { signer }: FrontClients,
): McpResponse {
  if (!reply.error || !canBeAsked(method)) return reply
  return pagesToVisit(reply.error, capabilities, signer) ?? reply
}

function errorAnswer({ era, id }: InboundRequest, error: JsonRpcError): Answer {
  return { status: errorStatus(era, error), text: errorText(id, eraError(era, error)) }
}

function faultError({ code, message, retryable }: Fault): JsonRpcError {
  return { code: TRANSPORT_ERROR, message, data: { reason: code, retryable } }
}

function cachePolicy(route: McpRoute, method: string): CachePolicy | undefined {
  if (method === 'server/discover') return DISCOVER_CACHE
  const isMetaToolList = method === 'tools/list' && route.kind === 'gateway' && route.profile !== 'direct'
  return isMetaToolList ? META_TOOLS_CACHE : undefined
}
