/** Faults for HTTP failures of an upstream; their messages never contain its address. */
import { Fault, messageOf } from '../../../errors.ts'
import { CLOSING_HEADER } from '../../protocol/closing-header.ts'
import type { HttpResponse } from './http-request.ts'

/** Messages for errors that occur before a connection is open, by code. */
const NOT_CONNECTED: Record<string, string> = {
  ECONNREFUSED: 'The upstream refuses connections',
  ENOTFOUND: "The upstream's host name is not known",
  EAI_AGAIN: "The upstream's host name could not be looked up",
  EHOSTUNREACH: "The upstream's host cannot be reached",
  ENETUNREACH: "The upstream's network cannot be reached",
  ETIMEDOUT: 'The upstream does not accept the connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'The upstream does not accept the connection in time',
}
/** Like the codes of NOT_CONNECTED: a bridge that is shutting down rejected the request before processing it. */
const CLOSING = 'CLOSING'
/** Statuses of a proxy that reaches no server for now, or of a server with too much to do. */
export const BUSY: ReadonlySet<unknown> = new Set([502, 503, 504])

/** The fault for an error that undici reported. */
export function connectionFault(error: Error): Fault {
  if (error instanceof Fault) return error
  const code = codeOf(error)
  const notConnected = wasConnected(error) ? undefined : NOT_CONNECTED[code]
  if (notConnected)
    return new Fault('upstream_unreachable', notConnected, {
      cause: error,
      retryable: true,
      details: { code },
    })
  if (
    code.includes('CERT') ||
    code.includes('SIGNATURE') ||
    code.startsWith('ERR_TLS') ||
    code.startsWith('ERR_SSL')
  )
    return new Fault(
      'upstream_unreachable',
      'The upstream is not trusted: its TLS certificate is not valid here',
      { cause: error, details: { code } },
    )
  if (code === 'UND_ERR_INVALID_ARG')
    return new Fault('bad_request', 'A header for the upstream has characters that HTTP does not allow', {
      cause: error,
    })
  return new Fault('upstream_died', 'The connection to the upstream broke before the answer', {
    cause: error,
    details: code ? { code } : {},
  })
}

/**
 * Whether a request was not processed: no connection could be opened, a bridge that is shutting down rejected it, or it was not sent (see
 * `unsentFault`).
 */
export function isNotConnected(error: unknown): boolean {
  if (!(error instanceof Fault) || error.code !== 'upstream_unreachable') return false
  return isRefusal(error) || error.details.unsent === true || String(error.details.code) in NOT_CONNECTED
}

/** Whether a bridge that is shutting down rejected a request. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Fault && error.details.code === CLOSING
}

/**
 * The fault for a call that was not sent because the handshake before it failed. If a proxy reached no pod, as that of a service mesh
 * accepts connections while none runs, the call counts as not processed. Other faults stay as they are.
 */
export function unsentFault(fault: unknown): unknown {
  if (!(fault instanceof Fault)) return fault
  const { code, message, details } = fault
  if (code !== 'upstream_died' && !BUSY.has(details.status)) return fault
  const unsent = { cause: fault, retryable: true, details: { ...details, unsent: true } }
  return new Fault('upstream_unreachable', message, unsent)
}

/** The fault for the response of a bridge that is shutting down; undefined for all other responses. */
export function closingFault({ headers }: Pick<HttpResponse, 'headers'>): Fault | undefined {
  if (headers[CLOSING_HEADER] === undefined) return undefined
  return new Fault('upstream_unreachable', 'The upstream is shutting down and did not process the request', {
    retryable: true,
    details: { code: CLOSING },
  })
}

/** Whether the connection was open. Node uses the same codes when a host disappears during a request, which may then have been executed. */
function wasConnected(error: Error & { syscall?: unknown }): boolean {
  return error.syscall === 'read' || error.syscall === 'write'
}

/** The code of an error, or else of its cause. Node reports several failed addresses of one host as one AggregateError. */
function codeOf(error: Error & { code?: unknown; errors?: unknown }): string {
  if (typeof error.code === 'string') return error.code
  const first = Array.isArray(error.errors) ? error.errors[0] : error.cause
  return first instanceof Error ? codeOf(first) : ''
}

/** Statuses for a body, a path or a header that is too large; headers can repeat arguments. */
const TOO_LARGE: ReadonlySet<number> = new Set([413, 414, 431])

/** The fault for an HTTP status that is not 2xx; undefined for 2xx. */
export function statusFault(status: number): Fault | undefined {
  if (status >= 200 && status < 300) return undefined
  const fault = (code: Fault['code'], message: string, retryable = false) =>
    new Fault(code, message, { retryable, details: { status } })
  if (status === 401) return fault('upstream_auth_required', 'The upstream requires credentials (401)')
  if (status === 403) return fault('upstream_auth_required', 'The upstream refuses our credentials (403)')
  if (status === 404)
    return fault('upstream_unreachable', 'The upstream has no MCP endpoint at its path (404)')
  if (status === 405)
    return fault('upstream_protocol', 'The upstream does not take POST (405): is it an SSE server?')
  if (TOO_LARGE.has(status)) {
    const details = { status, reason: 'RequestTooLarge' }
    return new Fault('bad_request', `The upstream finds the request too large (${status})`, { details })
  }
  if (status === 429) return fault('upstream_busy', 'The upstream asks us to slow down (429)', true)
  if (status >= 500) return fault('upstream_unreachable', `The upstream fails with status ${status}`, true)
  if (status >= 300 && status < 400)
    return fault('upstream_protocol', `The upstream redirects elsewhere (${status})`)
  return fault('upstream_protocol', `The upstream answered with status ${status}`)
}

/**
 * Whether a response says that the upstream does not know the session: 404 by the protocol. Servers based on the SDK's first examples
 * send 400 and mention the session or the protocol version.
 */
export function deniesSession({ status, text }: { status: number; text: string }): boolean {
  if (status === 404) return true
  return status === 400 && /session|initializ|protocol version/i.test(text.slice(0, 1000))
}

/** The fault for an answer that is not JSON-RPC. */
export function notJsonRpc(cause: unknown, contentType: string | string[] | undefined): Fault {
  const type = String(contentType ?? 'no content type').slice(0, 100)
  return new Fault('upstream_protocol', `The upstream's answer is not JSON-RPC (${type})`, {
    cause: messageOf(cause),
  })
}

/** The fault for an answer that is larger than its call allows. */
export function tooLarge(maxBytes: number): Fault {
  return new Fault('upstream_too_large', `The answer is larger than ${maxBytes} bytes`, {
    details: { maxBytes },
  })
}

/** The fault for a large answer while too many others are being received. */
export function noRoom(): Fault {
  return new Fault('upstream_too_large', 'Too many large answers are being received at once', {
    retryable: true,
    details: { crowded: true },
  })
}
