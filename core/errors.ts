/** The two kinds of errors that are data: a problem (a user's mistake) and a fault (the world failing in a way we name). */

/** Where in a user's file a problem stands; line and column count from 1. */
export type Position = { file?: string; line?: number; column?: number }

/** A user's mistake: returned by pure functions, shown as a condition or a printed line, never thrown. */
export type Problem = Position & {
  /** A stable word in CamelCase, as a condition's reason: `SecretNotFound`. */
  reason: string
  /** One sentence that says what to do. Never a secret's value. */
  message: string
  /** The field, as in `spec.headers[0].valueFrom`. */
  path?: string
}

export type FaultCode =
  | 'upstream_unreachable' // no connection, or the child could not be started
  | 'upstream_timeout' // no answer within the call's or the start's limit
  | 'upstream_died' // the child or the connection ended with the call in flight
  | 'upstream_auth_required' // the upstream answered 401 or 403
  | 'upstream_protocol' // the upstream's answer is not MCP
  | 'upstream_too_large' // the answer is over the byte limit
  | 'upstream_busy' // concurrency and queue are exhausted
  | 'upstream_open' // the circuit breaker is open
  | 'upstream_starting' // still in restart backoff
  | 'upstream_rejected' // the upstream answered with a JSON-RPC error
  | 'cancelled' // the caller went away
  | 'not_found'
  | 'bad_request'
  | 'conflict' // an object of somebody else stands in the way
  | 'unavailable' // what we build on does not serve us now: the API server, another gateway, an embeddings service, a worker, a port
  | 'timeout' // it, or our own work, took longer than its limit
  | 'invalid_data' // what was read is not what it should be: a feed, slices, an answer
  | 'io' // a local file, cache or installer failed

/** The world failing in a way we name. Thrown below, translated once at the rim into an answer that says what to do. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly retryable: boolean
  /** Small, safe facts for the log and the answer: never a secret, never an upstream's address. */
  readonly details: Readonly<Record<string, string | number | boolean>>

  constructor(
    code: FaultCode,
    message: string,
    options: {
      cause?: unknown
      retryable?: boolean
      details?: Record<string, string | number | boolean>
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }
}

/** The sentence of any thrown value, for a log field or a message. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
