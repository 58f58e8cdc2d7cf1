/** Tracing as every room sees it: spans, and the context that names one as the parent of what follows. Off: there is no Tracer. */
import { isObject, type JsonObject } from './json.ts'

/** W3C trace context, under these names in `params._meta` and in headers. */
export type TraceContext = { traceparent: string; tracestate?: string }

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>

export type SpanStart = {
  /** By the conventions for MCP: `{method} {target}`. Never a text that an agent wrote. */
  name: string
  kind: 'server' | 'client' | 'internal'
  /** Never secrets, arguments or results. */
  attributes?: SpanAttributes
}

/** Never throws, and never waits for whoever collects the spans. */
export type Tracer = {
  /** Begins a span under the one that a context names; without one, a trace. */
  begin(start: SpanStart, parent?: TraceContext): Span
}

export type Span = {
  /** Begins a span under this one. */
  begin(start: SpanStart): Span
  /** Names this span as the parent: what is sent on instead of the context that came. */
  context(): TraceContext
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Ends it, once; `error` is the word for what went wrong: a fault's code, `tool_error`, a JSON-RPC code. */
  end(error?: string): void
}

type Headers = Readonly<Record<string, string>>

/** Of version 00, 55 characters; of later ones it may be longer. */
const MAX_PARENT_LENGTH = 256
const MAX_STATE_LENGTH = 512

/** The context that a request came with: `_meta` wins over the headers, and neither is mixed with the other. Pure. */
export function contextOf(params: JsonObject, headers: Headers = {}): TraceContext | undefined {
  return readContext(isObject(params._meta) ? params._meta : {}) ?? readContext(headers)
}

function readContext({ traceparent, tracestate }: JsonObject | Headers): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_PARENT_LENGTH) return undefined
  const kept = typeof tracestate === 'string' && tracestate.length <= MAX_STATE_LENGTH
  return kept ? { traceparent, tracestate } : { traceparent }
}

/** The same request with this context instead of the one it came with, in both places; baggage stays. Pure. */
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

/** The span in which the lists of a server are read; `server` is its name, or namespace/name. */
export function discoverySpan(server: string): SpanStart {
  return { name: `discover ${server}`, kind: 'internal', attributes: { 'portolan.server': server } }
}
