/** The two kinds of expected errors: a problem (a user's mistake) and a fault (a named failure of something outside our code). */

/** The place of a problem in a user's file; line and column count from 1. */
export type Position = { file?: string; line?: number; column?: number }

/** A user's mistake: returned by pure functions, shown as a condition or a printed line, never thrown. */
export type Problem = Position & {
  /** A stable identifier in CamelCase, like a condition's reason: `SecretNotFound`. */
  reason: string
  /** One sentence that says what to do. Never a secret's value. */
  message: string
  /** The field, such as `spec.headers[0].valueFrom`. */
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
  | 'upstream_asleep' // it sleeps and could not be woken in time: `details.problem`, if known, says why
  | 'user_refused' // the caller cannot have an upstream of its own: `details.reason`, if known, says why
  | 'upstream_rejected' // the upstream answered with a JSON-RPC error
  | 'cancelled' // the caller went away
  | 'not_found'
  | 'bad_request'
  | 'conflict' // the object exists and belongs to another owner
  | 'unavailable' // a dependency does not work at the moment: the API server, another gateway, an embeddings service, a worker, a port
  | 'timeout' // a dependency, or our own work, took longer than its limit
  | 'invalid_data' // data that was read is malformed: a feed, slices, an answer
  | 'io' // a local file, cache or installer failed

/** A named failure of something outside our code. Translated once, at the entry points, into an answer that says what to do. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly retryable: boolean
  /** Small values for the log and the answer: never a secret, never an upstream's address. */
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

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
