/** The headers of a request that are forwarded to upstreams: `Mcp-Param-*` and the trace context. Pure. */
import { TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import type { RequestHeaders } from './headers.ts'
import { type Rejected, reject } from './rejection.ts'

export type ForwardedHeaders = Readonly<Record<string, string>>

const TRACE_HEADERS: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])
const MAX_HEADERS = 32
const MAX_CHARACTERS = 8 * 1024

/** Undefined if there are none; a rejection if there are too many. */
export function forwardedHeaders(headers: RequestHeaders): ForwardedHeaders | Rejected | undefined {
  let forwarded: Record<string, string> | undefined
  let count = 0
  let characters = 0
  for (const name in headers) {
    if (!name.startsWith('mcp-param-') && !TRACE_HEADERS.has(name)) continue
    const value = headers[name]
    const text = typeof value === 'string' ? value : (value ?? []).join(', ')
    forwarded ??= {}
    forwarded[name] = text
    count++
    characters += name.length + text.length
  }
  return count > MAX_HEADERS || characters > MAX_CHARACTERS ? tooMany() : forwarded
}

export function isRejected(forwarded: ForwardedHeaders | Rejected): forwarded is Rejected {
  return forwarded.kind === 'rejected'
}

function tooMany(): Rejected {
  const message = `Too many headers to forward: at most ${MAX_HEADERS} of Mcp-Param-*, traceparent, tracestate and baggage, ${MAX_CHARACTERS} characters`
  return reject(431, null, TRANSPORT_ERROR, message)
}
