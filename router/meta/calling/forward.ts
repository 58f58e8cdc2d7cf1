/** Sends a request to its server through the pool with the caller's capabilities, and reports the outcome. */
import type { RouterServer } from '../../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../../core/errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import type { Caller } from '../../../core/mcp/caller.ts'
import { TRANSPORT_ERROR } from '../../../core/mcp/protocol/error-codes.ts'
import type { McpResponse } from '../../../core/mcp/protocol/json-rpc.ts'
import { headersOfParams } from '../../../core/mcp/protocol/param-headers.ts'
import { carrying, type Span } from '../../../core/trace.ts'
import { ScopesMissing, scopesToAskFor } from '../../access/missing-scopes.ts'
import type { Granted } from '../../access/view.ts'
import type { ToolRoute } from '../../catalog/server-part.ts'
import { runReviewed } from '../../code/run-reviewed.ts'
import type { CallOutcome } from '../../observer.ts'
import type { Work } from '../meta-tool.ts'
import { readCompleted } from '../resources/completed.ts'
import { beginSent, end } from '../spans.ts'
import { reportRefusal } from '../wording/answers.ts'
import { pageToVisit } from './page-to-visit.ts'
import { payloadOf } from './payload.ts'

export type Forwarded = {
  server: RouterServer
  method: string
  params: JsonObject
  /** Set if the request calls a tool. */
  tool?: ToolRoute
  /** The text of `params.arguments` as the caller wrote it, if nothing in them was changed. */
  argumentsText?: string
  /** Set by `forward`: when it was sent; undefined if it was not. */
  sentMs?: number
}

/** Returns the upstream's answer, or the Fault if there is none. Throws `ScopesMissing` before anything is sent. Any other error is a bug and is rethrown. */
export async function forward(work: Work, sent: Forwarded): Promise<McpResponse | Fault> {
  const { caller } = work.request
  const { server, method, argumentsText } = sent
  const granted = grantedOf(sent)
  const scopes = granted ? scopesToAskFor(work.catalog, caller.identity, server, granted) : []
  if (scopes.length > 0) challenge(work, sent, scopes)
  const span = work.span && beginSent(work.span, work, sent)
  sent.sentMs = server.endpoint.kind === 'scripts' ? performance.now() : undefined
  let answer: McpResponse | Fault
  try {
    const { params, headers } = outgoing(sent, caller, span)
    const upstreamCaller = headers === caller.headers ? caller : { ...caller, headers }
    const call = { method, params, argumentsText, caller: upstreamCaller, times: sent }
    answer =
      server.endpoint.kind === 'scripts'
        ? await runReviewed({ ...work, span: span ?? work.span }, sent.tool?.tool, argumentsOf(sent))
        : await work.pool.call(server.name, call, caller.signal)
  } catch (error) {
    if (!(error instanceof Fault)) {
      span?.end('bug')
      throw error
    }
    answer = pageToVisit(error, server, caller) ?? error
  }
  if (!(answer instanceof Fault)) answer = faultOfBridge(server, answer) ?? answer
  if (span) end(span, answer)
  report(work, sent, answer)
  return answer
}

/** The Fault `upstream_too_large` that a bridge reports as an error; undefined: the answer is the server's own. */
function faultOfBridge({ endpoint }: RouterServer, { error }: McpResponse): Fault | undefined {
  if (!error || endpoint.kind !== 'http' || !endpoint.bearer || !isObject(error.data)) return undefined
  const { reason, maxBytes, maxValues } = error.data
  if (error.code !== TRANSPORT_ERROR || reason !== 'upstream_too_large') return undefined
  const details: Record<string, number> = {}
  if (typeof maxBytes === 'number') details.maxBytes = maxBytes
  if (typeof maxValues === 'number') details.maxValues = maxValues
  return new Fault(reason, error.message, { details })
}

function argumentsOf({ params }: Forwarded): JsonObject {
  return isObject(params.arguments) ? params.arguments : {}
}

/** Reports the refusal, and throws `ScopesMissing`. */
function challenge(work: Work, { server, tool, params }: Forwarded, scopes: readonly string[]): never {
  const missing = new ScopesMissing(scopes)
  const { message: refusal } = missing
  reportRefusal(work, { refusal, outcome: 'rejected', server, tool: tool?.tool, scopes, unsent: params })
  throw missing
}

/** The tool, prompt or resource that the request uses; undefined if it uses nothing that access rules apply to. */
function grantedOf({ tool, method, params }: Forwarded): Granted | undefined {
  if (tool) return { tool: tool.definition }
  const { ref, name, uri } = params
  switch (method) {
    case 'prompts/get':
      return { prompt: String(name) }
    case 'resources/read':
      return { uri: String(uri) }
    case 'completion/complete': {
      const completed = readCompleted(ref)
      if (!completed) return undefined
      return completed.type === 'ref/prompt' ? { prompt: completed.name } : { uri: completed.uri }
    }
    default:
      return undefined
  }
}

/** Params and headers to send: with the span's context, and with the arguments that the tool requires in headers. */
function outgoing({ params, tool }: Forwarded, caller: Caller, span: Span | undefined) {
  const headers = tool ? withParamHeaders(caller.headers, tool, params.arguments) : caller.headers
  return span ? carrying(span.context(), params, headers) : { params, headers }
}

/** Adds the headers for arguments, and replaces those that the caller sent, which may know the tool only by its name. */
function withParamHeaders(
  headers: Caller['headers'],
  { paramHeaders }: ToolRoute,
  args: JsonValue | undefined,
): Caller['headers'] {
  if (paramHeaders.length === 0 || !isObject(args)) return headers
  return { ...headers, ...headersOfParams(paramHeaders, args) }
}

function report(work: Work, sent: Forwarded, answer: McpResponse | Fault): void {
  const { logging } = sent.server
  const nowMs = performance.now()
  work.observer.called({
    server: sent.server.name,
    tool: sent.tool?.tool,
    method: sent.method,
    outcome: outcomeOf(answer),
    client: work.request.caller.label,
    totalMs: nowMs - work.arrivedMs,
    upstreamMs: sent.sentMs === undefined ? 0 : nowMs - sent.sentMs,
    payload: logging.payloads === 'none' ? undefined : payloadOf(logging.payloads, sent, answer),
    log: logging.requests,
    by: work,
    sent: { params: sent.params, answer },
    script: work.script,
  })
}

/** The outcome of a call as metrics, log and audit name it. */
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
  user_refused: 'rejected',
}
