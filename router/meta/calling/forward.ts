/** Sends a request to its server through the pool with all that its caller can take and be asked, and reports what came of it. */

import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../../core/errors.ts'
import { isObject, type JsonObject } from '../../../core/json.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { headersOfParams } from '../../../core/mcp/protocol/param-headers.ts'
import type { McpRequest } from '../../../core/mcp/server/handler.ts'
import { carrying } from '../../../core/trace.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import type { CallOutcome } from '../../observer.ts'
import { rawArguments } from '../arguments/raw-arguments.ts'
import type { Work } from '../meta-tool.ts'
import { beginSent, end } from '../spans.ts'
import { payloadOf } from './payload.ts'

export type Forwarded = {
  server: RouterServer
  method: string
  params: JsonObject
  /** Where the request calls a tool. */
  tool?: ToolRoute
}

/** The upstream's answer, or the fault that stood for it. Anything else that is thrown is a bug, and passes. */
export async function forward(work: Work, sent: Forwarded): Promise<McpResponse | Fault> {
  const { request, pool } = work
  const { server, method, params, tool } = sent
  const { arguments: args } = params
  const span = work.span && beginSent(work.span, work, sent)
  const sentMs = performance.now()
  let answer: McpResponse | Fault
  try {
    const call = {
      method,
      params,
      argumentsText: tool && isObject(args) ? rawArguments(request, args) : undefined,
      client: request.client,
      capabilities: request.capabilities,
      ask: request.ask,
      logLevel: request.logLevel,
      headers: tool && isObject(args) ? headersFor(request, tool, args) : request.headers,
      onNotification: request.notify,
    }
    const carried = span ? { ...call, ...carrying(span.context(), params, call.headers) } : call
    answer = await pool.call(server.name, carried, request.signal)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    answer = error
  }
  if (span) end(span, answer)
  report(work, sent, answer, sentMs)
  return answer
}

/** What the tool wants repeated in headers is in them, whatever the caller sent: it may know nothing of the tool but its name. */
function headersFor(
  { headers }: McpRequest,
  { paramHeaders }: ToolRoute,
  args: JsonObject,
): McpRequest['headers'] {
  return paramHeaders.length === 0 ? headers : { ...headers, ...headersOfParams(paramHeaders, args) }
}

function report(work: Work, sent: Forwarded, answer: McpResponse | Fault, sentMs: number): void {
  const { logging } = sent.server
  const nowMs = performance.now()
  work.observer.called({
    server: sent.server.name,
    tool: sent.tool?.tool,
    method: sent.method,
    outcome: outcomeOf(answer),
    client: work.request.label,
    totalMs: nowMs - work.arrivedMs,
    upstreamMs: nowMs - sentMs,
    payload: logging.payloads === 'none' ? undefined : payloadOf(logging.payloads, sent, answer),
    log: logging.requests,
  })
}

export function outcomeOf(answer: McpResponse | Fault): CallOutcome {
  if (answer instanceof Fault) return FAULT_OUTCOMES[answer.code] ?? 'unavailable'
  if (answer.error) return 'upstream_error'
  return answer.result.isError === true ? 'tool_error' : 'ok'
}

const FAULT_OUTCOMES: Partial<Record<FaultCode, CallOutcome>> = {
  cancelled: 'cancelled',
  upstream_timeout: 'timeout',
  upstream_too_large: 'too_large',
  upstream_died: 'upstream_error',
  upstream_protocol: 'upstream_error',
  upstream_busy: 'rejected',
}
