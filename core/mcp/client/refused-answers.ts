/** Refuses calls with answers (`inputResponses`) that a 2025 upstream would silently drop. Pure. */
import { INVALID_PARAMS } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import type { UpstreamCall } from '../upstream.ts'

/** The error for a call with `inputResponses` or `requestState` to a 2025 upstream, which has neither; undefined for other calls. */
export function refusedAnswers({ params }: UpstreamCall): McpResponse | undefined {
  if (params === undefined || (params.requestState === undefined && params.inputResponses === undefined))
    return undefined
  const message =
    'The server waits for no answers: its question is over, or was never asked. Call again without inputResponses and requestState'
  return { error: { code: INVALID_PARAMS, message } }
}
