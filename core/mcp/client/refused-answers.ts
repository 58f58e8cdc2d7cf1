/** Refuses answers to questions that an upstream of the 2025 era never asked in that form. Pure. */
import { INVALID_PARAMS } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import type { UpstreamCall } from '../upstream.ts'

/**
 * The answer to a call that brings answers to questions of the 2026 era, where the upstream is of the 2025 era and asks in another way;
 * undefined where it brings none. They would be dropped in silence.
 */
export function refusedAnswers({ params }: UpstreamCall): McpResponse | undefined {
  if (params === undefined || (params.requestState === undefined && params.inputResponses === undefined))
    return undefined
  const message =
    'The server waits for no answers: its question is over, or was never asked. Call again without inputResponses and requestState'
  return { error: { code: INVALID_PARAMS, message } }
}
