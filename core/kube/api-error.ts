/** Failed requests to the API server, as faults with the server's own status and reason. */
import { Fault, type FaultCode, messageOf } from '../errors.ts'
import { isObject, type JsonValue, tryParseJson } from '../json.ts'

const MAX_MESSAGE_CHARACTERS = 1_000
/** Limit of what a server's Retry-After can demand. */
const MAX_RETRY_AFTER_MS = 60_000
const TOO_MANY_REQUESTS = 429
/** In messages about admission. A ValidatingAdmissionPolicy without `reason` answers 422, and a webhook any status. */
const DENIAL = /ValidatingAdmissionPolicy '.*' denied request|admission webhook ".*" denied the request/

/**
 * `reason` is the API server's (`NotFound`, `Conflict`, `Expired` …), or one of ours: `Unreachable`, `Timeout`, `Silent`, `TooLarge`,
 * `Unreadable`, `Closed`, `LeaseLost`.
 */
export class ApiError extends Fault {
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  readonly reason: string
  /** How long the server asks clients to wait before they retry, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(
    status: number,
    reason: string,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(codeOf(status, reason), message, {
      cause: options.cause,
      retryable: isRetryable(status, reason),
      details: { status, reason },
    })
    this.name = 'ApiError'
    this.status = status
    this.reason = reason
    this.retryAfterMs = options.retryAfterMs
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

/** True if another client changed the object in the meantime, or a precondition does not hold. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason === 'Conflict'
}

/** True if the requested resourceVersion is too old for the server: the objects must be listed again. */
export function isExpired(error: unknown): boolean {
  return error instanceof ApiError && error.status === 410
}

/** True if a rule of the cluster forbids the request: a quota, an admission policy, a missing permission. */
export function isDenied(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false
  return error.status === 403 || error.status === 400 || DENIAL.test(error.message)
}

/** True if the API server does not accept who we are (401), or what we ask for (403). */
export function isRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 401 || error.status === 403)
}

/** The error for an HTTP answer. The body is a `Status`, unless a proxy in between answered. `retryAfter` is the header, in seconds. */
export function errorOfAnswer(status: number, body: string, retryAfter?: string): ApiError {
  const parsed = tryParseJson(body)
  const seconds = retryAfter === undefined ? undefined : Number.parseFloat(retryAfter)
  return errorOfStatus(isObject(parsed) ? parsed : { message: body }, status, seconds)
}

/** The error for a `Status` object, which is also what an ERROR event of a watch contains. */
export function errorOfStatus(given: { [key: string]: unknown }, fallback = 500, seconds?: number): ApiError {
  const status = typeof given.code === 'number' ? given.code : fallback
  const reason = typeof given.reason === 'string' && given.reason ? given.reason : reasonOf(status)
  const message = typeof given.message === 'string' && given.message ? given.message : reason
  const details = isObject(given.details as JsonValue)
    ? (given.details as { retryAfterSeconds?: unknown })
    : {}
  const wait = seconds ?? details.retryAfterSeconds
  const retryAfterMs =
    typeof wait === 'number' && wait >= 0 ? Math.min(wait * 1_000, MAX_RETRY_AFTER_MS) : undefined
  return new ApiError(status, reason, `The API server answered ${status}: ${clip(message)}`, { retryAfterMs })
}

/** The error for a connection that could not be opened, or broke. */
export function unreachable(error: unknown): ApiError {
  return new ApiError(0, 'Unreachable', `The API server cannot be reached: ${clip(messageOf(error))}`, {
    cause: error,
  })
}

function reasonOf(status: number): string {
  if (status === 401) return 'Unauthorized'
  if (status === 403) return 'Forbidden'
  if (status === 404) return 'NotFound'
  if (status === 410) return 'Expired'
  if (status === TOO_MANY_REQUESTS) return 'TooManyRequests'
  return status >= 500 ? 'InternalError' : 'Unknown'
}

function codeOf(status: number, reason: string): FaultCode {
  if (status === 404) return 'not_found'
  if (reason === 'Timeout') return 'timeout'
  return status >= 400 && status < 500 && status !== TOO_MANY_REQUESTS ? 'bad_request' : 'unavailable'
}

function isRetryable(status: number, reason: string): boolean {
  if (reason === 'TooLarge') return false
  return (
    status === 0 || status >= 500 || status === TOO_MANY_REQUESTS || status === 410 || reason === 'Conflict'
  )
}

function clip(text: string): string {
  return text.length > MAX_MESSAGE_CHARACTERS ? `${text.slice(0, MAX_MESSAGE_CHARACTERS)}…` : text
}
