/** Answers one validated request of either era: protocol methods itself, all others through the handler. Never throws. */
import { Fault } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { INTERNAL_ERROR, TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse } from '../protocol/json-rpc.ts'
import { wantsInput } from '../protocol/message.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler, McpRequest, McpRoute } from './handler.ts'
import { canBeAsked, handle } from './handling.ts'
import { unaskableInput } from './input-rounds.ts'
import type { PostResponse } from './post-response.ts'
import { answerProtocol } from './protocol.ts'
import {
  type CachePolicy,
  eraError,
  errorStatus,
  errorText,
  legacyResultText,
  modernResultText,
  type Result,
} from './reply.ts'
import { pagesToVisit } from './url-elicitation.ts'

/** `scopes`: those that a challenge has to name; the challenge then replaces `status`. */
export type Answer = { status: number; text: string; scopes?: readonly string[] }

/** Meta-tools are the same for everyone and hardly ever change. */
const META_TOOLS_CACHE: CachePolicy = { ttlMs: 5 * 60_000, cacheScope: 'public' }
const DISCOVER_CACHE: CachePolicy = { ttlMs: 60_000, cacheScope: 'private' }

/** `response` answers the POST that carried the request. */
export async function answer(
  { handler, clients, log }: { handler: McpHandler; clients: FrontClients; log: Log },
  request: McpRequest,
  response: PostResponse,
): Promise<Answer> {
  try {
    const reply = await (answerProtocol(handler, clients, request, response) ??
      handle(handler, clients, request, response))
    return request.caller.era === 'legacy'
      ? legacyAnswer(request, reply)
      : modernAnswer(handler, request, asQuestion(reply, request, clients))
  } catch (error) {
    // A question got no answer, or its server is gone. Handlers turn every other fault into a reply.
    if (error instanceof Fault) return errorAnswer(request, faultError(error))
    log.error({ err: error, method: request.method }, 'request failed unexpectedly')
    return errorAnswer(request, { code: INTERNAL_ERROR, message: 'Internal error' })
  }
}

function legacyAnswer(request: McpRequest, reply: McpResponse): Answer {
  if (reply.error) return { ...errorAnswer(request, reply.error), scopes: reply.scopes }
  return { status: 200, text: legacyResultText(request.id, reply) }
}

function modernAnswer(handler: McpHandler, request: McpRequest, reply: McpResponse): Answer {
  if (reply.error) return { ...errorAnswer(request, reply.error), scopes: reply.scopes }
  const { id, method, route, caller } = request
  const forCaller = caller.identity.id === '' ? reply : withPrivateCache(reply)
  const refused = wantsInput(reply.result) ? unaskableInput(reply.result, caller.capabilities) : undefined
  if (refused) return errorAnswer(request, refused)
  const serverInfo = handler.describe(route, caller.identity)?.serverInfo
  return {
    status: 200,
    text: modernResultText(id, method, forCaller, serverInfo, cachePolicy(route, method)),
  }
}

/** An answer to an authenticated caller must not be cached for others, even if the upstream declares it public. */
function withPrivateCache(reply: Result): Result {
  const { result } = reply
  return result.cacheScope === 'public' ? { result: { ...result, cacheScope: 'private' } } : reply
}

/** Replaces the error −32042 by the equivalent question of the 2026 era. */
function asQuestion(
  reply: McpResponse,
  { method, caller }: McpRequest,
  { signer }: FrontClients,
): McpResponse {
  if (!reply.error || !canBeAsked(method)) return reply
  return pagesToVisit(reply.error, caller.capabilities, signer) ?? reply
}

function errorAnswer({ id, caller: { era } }: McpRequest, error: JsonRpcError): Answer {
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
