/** Refusals and faults as JSON-RPC errors, for requests whose answer is not a tool result. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import type { Fault } from '../../../core/errors.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
  TRANSPORT_ERROR,
} from '../../../core/mcp/protocol/error-codes.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import type { ScopesMissing } from '../../access/missing-scopes.ts'
import type { Work } from '../meta-tool.ts'
import { type Refusal, reportRefusal } from '../wording/answers.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { faultSentence } from '../wording/sentences.ts'

/** An error for params that are wrong. */
export function invalid(message: string): McpResponse {
  return { error: { code: INVALID_PARAMS, message } }
}

/** An error for a method, or a whole profile or endpoint, that is not served. */
export function notFound(message: string): McpResponse {
  return { error: { code: METHOD_NOT_FOUND, message } }
}

/** Reports a refused request, and returns it as a JSON-RPC error. */
export function refuseNatively(work: Work, refusal: Refusal): McpResponse {
  reportRefusal(work, refusal)
  return {
    error: {
      code: refusal.outcome === 'rejected' ? INVALID_PARAMS : INTERNAL_ERROR,
      message: refusal.refusal,
    },
  }
}

/** As refuseNatively, for a URI; an unknown URI gets RESOURCE_NOT_FOUND. */
export function unknownResource(work: Work, uri: string, refusal: Refusal): McpResponse {
  if (refusal.outcome !== 'rejected') return refuseNatively(work, refusal)
  reportRefusal(work, refusal)
  return { error: { code: RESOURCE_NOT_FOUND, message: refusal.refusal, data: { uri } } }
}

/** The error for missing scopes. Over HTTP it becomes a challenge that names the scopes; in a batch or a stream clients get only the error. */
export function challengeFor({ message, scopes }: ScopesMissing): McpResponse {
  const data = { reason: 'insufficient_scope', scopes: [...scopes] }
  return { error: { code: TRANSPORT_ERROR, message, data }, scopes }
}

/** The error for a request that the server did not answer. */
export function unanswered(fault: Fault, server: RouterServer, words: ProfileWords): McpResponse {
  return { error: { code: INTERNAL_ERROR, message: faultSentence(fault, server, words) } }
}
