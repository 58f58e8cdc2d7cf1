/** Reads the bearer token of a request (RFC 6750), and says why a request is refused. Pure. */

export type Refused = {
  status: 400 | 401 | 403 | 503
  message: string
  /** The same for metrics and the audit stream. */
  reason: RefusedReason
  /** `error` of the challenge (RFC 6750, section 3.1); absent where no token was given. */
  error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope'
  /** The scopes that are needed. */
  scopes?: readonly string[]
}

export type RefusedReason =
  | 'NoToken'
  | 'MalformedHeader'
  | 'ReplicaSignature'
  | 'UnknownToken'
  | 'Unverifiable'
  | 'Expired'
  | 'NotYetValid'
  | 'ValidForTooLong'
  | 'OtherAudience'
  | 'UnacceptableClaim'
  | 'NoAccessToken'
  | 'Revoked'
  | 'TooManyGroups'
  | 'MissingScopes'
  | 'OtherNamespace'
  | 'ReviewDenied'
  | 'ReviewUnavailable'
  | 'KeysUnavailable'
  | 'Busy'

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/
/** What a token consists of, for people. */
export const TOKEN_CHARACTERS = 'A-Z, a-z, 0-9, -._~+/ and = at the end'
const MAX_TOKEN = 16_384

/** The token; undefined if there is no header, or why the header is refused. Two Authorization headers arrive as one with a comma, which no token has. */
export function readBearer(authorization: string | undefined): string | Refused | undefined {
  if (authorization === undefined) return undefined
  const token = authorization.length > MAX_TOKEN ? undefined : BEARER.exec(authorization)?.[1]
  if (token !== undefined) return token
  return malformed('MalformedHeader')
}

/** Whether a caller can send this text as a token. */
export function isSendable(token: string): boolean {
  return TOKEN.test(token)
}

/** The refusal (400) of a header that is not a bearer token. */
export function malformed(reason: RefusedReason): Refused {
  const message = 'The header Authorization must be one "Bearer <token>" of at most 16 KiB.'
  return { status: 400, error: 'invalid_request', reason, message }
}

export const KEYS_UNAVAILABLE: Refused = {
  status: 503,
  reason: 'KeysUnavailable',
  message: 'Tokens cannot be verified now; try again in a moment.',
}

/** The refusal (401) of a token. */
export function refused(reason: RefusedReason, message: string): Refused {
  return { status: 401, error: 'invalid_token', reason, message }
}
