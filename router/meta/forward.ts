/** Sends a request to its server through the pool, and reports what came of it. */
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { UpstreamAnswer } from '../../core/mcp/upstream.ts'
import type { CallOutcome } from '../observer.ts'
import type { Work } from './meta-tool.ts'
import { payloadOf } from './payload.ts'

export type Forwarded = {
  server: RouterServer
  method: string
  params: JsonObject
  /** Real name of the tool, where the request is about one. */
  tool?: string
}

/** The upstream's answer, or the fault that stood for it. Anything else that is thrown is a bug, and passes. */
export async function forward(work: Work, sent: Forwarded): Promise<UpstreamAnswer | Fault> {
  const { request, pool } = work
  const sentMs = performance.now()
  let answer: UpstreamAnswer | Fault
  try {
    answer = await pool.call(
      sent.server.name,
      { method: sent.method, params: sent.params, client: request.client, onNotification: request.notify },
      request.signal,
    )
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    answer = error
  }
  report(work, sent, answer, sentMs)
  return answer
}

function report(work: Work, sent: Forwarded, answer: UpstreamAnswer | Fault, sentMs: number): void {
  const { logging } = sent.server
  const nowMs = performance.now()
  work.observer.called({
    server: sent.server.name,
    tool: sent.tool,
    method: sent.method,
    outcome: outcomeOf(answer),
    totalMs: nowMs - work.arrivedMs,
    upstreamMs: nowMs - sentMs,
    payload:
      logging.payloads === 'none'
        ? undefined
        : payloadOf(allowedPayloads(sent.server, work.catalog.config), sent, answer),
    log: logging.requests,
  })
}

/** The stricter of server and gateway wins. */
function allowedPayloads({ logging }: RouterServer, { audit }: RouterConfig) {
  if (logging.payloads === 'none' || audit.payloads === 'none') return 'none'
  return logging.payloads === 'redacted' || audit.payloads === 'redacted' ? 'redacted' : 'full'
}

function outcomeOf(answer: UpstreamAnswer | Fault): CallOutcome {
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
