/** Verifies JSON Web Tokens of the issuers that a gateway admits, and makes identities of them. */

import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import type { JwtIssuerConfig, Revocation } from '../../core/catalog/access-config.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import { isObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { ownValue } from '../../core/own-value.ts'
import { type Refused, type RefusedReason, refused } from './bearer.ts'
import type { IssuerKeys, IssuerKeysOptions } from './issuer-keys.ts'

export type JwtVerifier = {
  /** Undefined: the token is of none of the issuers. Rejects with Fault `unavailable` while there are no keys. */
  verify(token: string): Promise<Identity | Refused | undefined>
  /** The state of each issuer's keys; fetches those that are due, without waiting. */
  keys(): KeyState[]
  /** The age of each issuer's keys in milliseconds, by its name; without issuers whose keys are not fetched, or not yet. */
  keyAges(): Map<string, number>
}

/** Asymmetric algorithms only: a shared secret would let every gateway mint tokens. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** Headers by which a token would choose the key that it is verified with, and extensions that we do not know (RFC 7515). */
const REFUSED_HEADERS = ['jku', 'x5u', 'jwk', 'x5c', 'crit', 'b64']
const MAX_KEY_ID = 256
/** Keys that are tried for a token that names none. */
const MAX_TRIED_KEYS = 8
const MAX_GROUPS = 1_000
const MAX_SUBJECT = 512
/** Types of tokens that are not access tokens; the first is identity assertions (draft-ietf-oauth-identity-assertion-authz-grant). */
const OTHER_TYPES = ['oauth-id-jag+jwt', 'logout+jwt', 'dpop+jwt', 'secevent+jwt']

/** `issuers`: each with its keys. */
export function createJwtVerifier(
  issuers: readonly (readonly [JwtIssuerConfig, IssuerKeys])[],
  revoked: readonly Revocation[],
  options: Pick<IssuerKeysOptions, 'clock' | 'metrics'>,
): JwtVerifier {
  // The series have to exist before the first fetch: otherwise Prometheus would not see their first increase.
  for (const [{ name, keysFrom }] of issuers)
    if (keysFrom) for (const ok of [true, false]) options.metrics.keysFetched(name, ok, 0)
  const known = new Map(issuers.map(([issuer, keys]) => [issuer.issuer, { issuer, keys }]))
  return {
    async verify(token) {
      const claimed = readClaimed(token)
      const found = claimed && known.get(claimed.issuer)
      if (!claimed || !found) return undefined
      const { issuer, keys } = found
      const objection = objectionTo(claimed.header)
      if (objection) return refused(...objection)
      try {
        const payload = await verifiedPayload(token, keys, {
          issuer: issuer.issuer,
          audience: issuer.audiences,
          algorithms: ALGORITHMS,
          currentDate: new Date(options.clock.now()),
          clockTolerance: issuer.clockSkewMs / 1_000,
          requiredClaims: ['exp', 'iat', 'sub'],
        })
        return identityOf(payload, issuer, revoked, options.clock.now())
      } catch (error) {
        if (error instanceof errors.JOSEError) return refused(...sentenceOf(error))
        throw error
      }
    },
    keys: () => [...known.values()].map(({ keys }) => keys.state()),
    keyAges: () =>
      new Map(
        known.values().flatMap(({ issuer, keys }) => {
          const age = keys.ageMs()
          return age === undefined ? [] : [[issuer.name, age] as const]
        }),
      ),
  }
}

type Objection = [reason: RefusedReason, message: string]

/** The issuer that a token claims and its header, both not verified yet; undefined if the token is not a JWT of an issuer. */
function readClaimed(token: string): { issuer: string; header: ProtectedHeaderParameters } | undefined {
  try {
    const { iss } = decodeJwt(token)
    return iss === undefined ? undefined : { issuer: iss, header: decodeProtectedHeader(token) }
  } catch {
    return undefined
  }
}

/** Why a token is refused because of its header. */
function objectionTo(header: ProtectedHeaderParameters): Objection | undefined {
  const named = REFUSED_HEADERS.find(name => name in header)
  if (named !== undefined)
    return ['Unverifiable', `The token has the header ${named}, which is not accepted.`]
  if (typeof header.kid === 'string' && header.kid.length > MAX_KEY_ID)
    return ['Unverifiable', 'The key id (kid) of the token is too long.']
  const { typ }: { typ?: unknown } = header
  if (typ !== undefined && typeof typ !== 'string')
    return ['Unverifiable', 'The type (typ) of the token is not a string.']
  const type = typ?.toLowerCase().replace(/^application\//, '')
  if (type !== undefined && OTHER_TYPES.includes(type))
    return ['NoAccessToken', 'The token is not an access token.']
  return undefined
}

/** The claims of a token. One without a key id may be signed with any key of its algorithm: then several are tried. */
async function verifiedPayload(
  token: string,
  { find }: Pick<IssuerKeys, 'find'>,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, find, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    let tried = 0
    for await (const key of error) {
      const payload = await jwtVerify(token, key, options).then(verified => verified.payload, unlessOtherKey)
      if (payload) return payload
      if (++tried === MAX_TRIED_KEYS) break
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** Throws an error, unless it means that the token is signed with another key, or that the key cannot be used: jose throws a TypeError if it is too short. */
function unlessOtherKey(error: unknown): undefined {
  if (!(error instanceof errors.JWSSignatureVerificationFailed || error instanceof TypeError)) throw error
}

function identityOf(
  payload: JWTPayload,
  issuer: JwtIssuerConfig,
  revoked: readonly Revocation[],
  nowMs: number,
): Identity | Refused {
  const { sub = '', exp = 0, iat = 0, jti } = payload
  // A signed token may still have anything in its claims.
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT || !sub.isWellFormed())
    return refused('UnacceptableClaim', 'The token has no usable subject.')
  const skewMs = issuer.clockSkewMs
  if (iat * 1_000 > nowMs + skewMs) return refused('NotYetValid', 'The token is not valid yet.')
  if ((exp - iat) * 1_000 > issuer.maxLifetimeMs)
    return refused('ValidForTooLong', 'The token is valid for too long.')
  if (isIdToken(payload)) return refused('NoAccessToken', 'An ID token is not an access token.')
  if (revoked.some(entry => isRevoked(entry, issuer.name, sub, jti, iat * 1_000)))
    return refused('Revoked', 'The token was revoked.')
  const scopes = scopesOf(payload)
  const missing = issuer.requiredScopes.filter(scope => !scopes.includes(scope))
  if (missing.length > 0)
    return {
      status: 403,
      error: 'insufficient_scope',
      reason: 'MissingScopes',
      message: 'The token lacks scopes.',
      scopes: issuer.requiredScopes,
    }
  const groups = groupsOf(payload[issuer.groupsClaim] as JsonValue | undefined)
  if (!groups) return refused('TooManyGroups', `The token names more than ${MAX_GROUPS} groups.`)
  const name = nameOf(payload, issuer)
  if (name === undefined)
    return refused('UnacceptableClaim', `The token has no usable claim ${issuer.usernameClaim}.`)
  return Object.freeze({
    id: userId(issuer.name, sub),
    kind: 'user',
    issuer: issuer.name,
    subject: sub,
    name,
    groups,
    scopes,
    claims: payload as JsonObject,
    client: textOf(payload.azp) ?? textOf(payload.client_id),
    actor: isObject(payload.act) ? textOf(payload.act.sub) : undefined,
    expiresMs: exp * 1_000 + skewMs,
  } satisfies Identity)
}

/** The `id` of the identity of an issuer's user. */
export function userId(issuer: string, subject: string): string {
  return `user:${issuer}:${encodeURIComponent(subject)}`
}

/**
 * The name by which rules name a user; undefined if it is not usable. Only this claim counts, since a subject could be equal to the name of another
 * user. As in Kubernetes, an email address is refused if the issuer says that it is not verified: anybody could have given it.
 */
function nameOf(payload: JWTPayload, { usernameClaim }: JwtIssuerConfig): string | undefined {
  const name = ownValue(payload, usernameClaim)
  const isDoubtful =
    usernameClaim === 'email' && 'email_verified' in payload && payload.email_verified !== true
  const isUsable = typeof name === 'string' && name !== '' && name.length <= MAX_SUBJECT
  return isUsable && !isDoubtful ? name : undefined
}

/** Only ID tokens repeat the `nonce` of a request or have the hash of an access token (OpenID Connect Core 1.0, sections 2 and 3.1.3.6). */
function isIdToken(payload: JWTPayload): boolean {
  return 'at_hash' in payload || ('nonce' in payload && !('scope' in payload) && !('scp' in payload))
}

function isRevoked(
  entry: Revocation,
  issuer: string,
  sub: string,
  jti: string | undefined,
  issuedMs: number,
): boolean {
  if (entry.issuer !== undefined && entry.issuer !== issuer) return false
  if ('subject' in entry) return entry.subject === sub
  return 'jti' in entry ? entry.jti === jti : issuedMs < entry.beforeMs
}

/** `scope` is a string with spaces (RFC 9068); `scp` a string or a list, as Microsoft and Okta write it. */
function scopesOf({ scope, scp }: JWTPayload): string[] {
  const given = scope ?? scp
  if (typeof given === 'string') return given.split(' ').filter(one => one !== '')
  return Array.isArray(given) ? given.filter(one => typeof one === 'string') : []
}

/** The groups in a claim: a string or a list of strings, as in Kubernetes, without names that the cluster reserves. Undefined if there are too many. */
function groupsOf(claim: JsonValue | undefined): string[] | undefined {
  const given = (Array.isArray(claim) ? claim : [claim]).filter(group => typeof group === 'string')
  if (given.length > MAX_GROUPS) return undefined
  return given.filter(group => !group.startsWith('system:'))
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Describes what is wrong with a token, without repeating any part of it. */
function sentenceOf(error: errors.JOSEError): Objection {
  if (error instanceof errors.JWTExpired) return ['Expired', 'The token has expired.']
  if (error instanceof errors.JWTClaimValidationFailed)
    return error.claim === 'aud'
      ? ['OtherAudience', 'The token is for another audience.']
      : [
          error.claim === 'nbf' ? 'NotYetValid' : 'UnacceptableClaim',
          `The claim ${error.claim} is not acceptable.`,
        ]
  return ['Unverifiable', 'The token cannot be verified.']
}
