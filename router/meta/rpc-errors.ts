/** Refusals and faults as JSON-RPC errors, for requests whose answer is no tool result. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Fault } from '../../core/errors.ts'
import type { McpReply } from '../../core/mcp/front/handler.ts'
import { type Refusal, reportRefusal } from './answers.ts'
import type { Work } from './meta-tool.ts'
import { faultSentence } from './sentences.ts'

const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603

export function invalid(message: string): McpReply {
  return { error: { code: INVALID_PARAMS, message } }
}

export function notFound(message: string): McpReply {
  return { error: { code: METHOD_NOT_FOUND, message } }
}

/** Reports a request that goes no further, and answers it. */
export function refuseNatively(work: Work, refusal: Refusal): McpReply {
  reportRefusal(work, refusal)
  return {
    error: {
      code: refusal.outcome === 'rejected' ? INVALID_PARAMS : INTERNAL_ERROR,
      message: refusal.refusal,
    },
  }
}

export function unanswered(fault: Fault, server: RouterServer): McpReply {
  return { error: { code: INTERNAL_ERROR, message: faultSentence(fault, server) } }
}
