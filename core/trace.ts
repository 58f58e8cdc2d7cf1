/** The tracing interface: spans, and the context that names one as the parent of later ones. Without tracing there is no Tracer. */
import { isObject, type JsonObject } from './json.ts'

/** W3C trace context, sent under these names in `params._meta` and in headers. */
export type TraceContext = { traceparent: string; tracestate?: string }

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export type SpanStart = {
  /** `{method} {target}`, by OpenTelemetry's conventions for MCP. Never text that an agent wrote. */
  name: string
  kind: 'server' | 'client' | 'internal'
  /** Never secrets, arguments or results. */
  attributes?: SpanAttributes
}

/** Never throws and never waits for the collector. */
export type Tracer = {
  /** Begins a span under `parent`, or a new trace without one. */
  begin(start: SpanStart, parent?: TraceContext): Span
}

export type Span = {
  /** Begins a span under this one. */
  begin(start: SpanStart): Span
  /** The context with this span as the parent, to be sent upstream in place of the caller's. */
  context(): TraceContext
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Ends the span; call it once. `error` identifies a failure: a fault's code, `tool_error`, a JSON-RPC code. */
  end(error?: string): void
}

type Headers = Readonly<Record<string, string>>

/** 55 characters in version 00; later versions may be longer. */
const MAX_PARENT_LENGTH = 256
const MAX_STATE_LENGTH = 512

/** The trace context of a request: from `_meta`, or else from the headers, never a mixture of both. Pure. */
export function contextOf(params: JsonObject, headers: Headers = {}): TraceContext | undefined {
  return readContext(isObject(params._meta) ? params._meta : {}) ?? readContext(headers)
}

function readContext({ traceparent, tracestate }: JsonObject | Headers): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_PARENT_LENGTH) return undefined
  const kept = typeof tracestate === 'string' && tracestate.length <= MAX_STATE_LENGTH
  return kept ? { traceparent, tracestate } : { traceparent }
}

/** The params and headers of a request with this trace context instead of their own; baggage stays. Pure. */
export function carrying(
  context: TraceContext,
  params: JsonObject,
  headers: Headers = {},
): { params: JsonObject; headers: Headers } {
  const meta = isObject(params._meta) ? params._meta : {}
  return { params: { ...params, _meta: replaced(meta, context) }, headers: replaced(headers, context) }
}

function replaced<T extends JsonObject | Headers>({ tracestate: _, ...rest }: T, context: TraceContext): T {
  return { ...rest, ...context } as unknown as T
}

/** The span of a discovery; `server` is a name, or namespace/name. */
export function discoverySpan(server: string): SpanStart {
  return { name: `discover ${server}`, kind: 'internal', attributes: { 'portolan.server': server } }
}
