/**
 * Verifies ServiceAccount tokens with the API server's public keys. A request waits for the API server only if its token names an unknown key or,
 * where the gateway requires reviews, was not reviewed lately.
 */
import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose'
import type { Clock } from '../../core/async.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { type Refused, type RefusedReason, refused } from './bearer.ts'
import { type ClusterKeys, createClusterKeys } from './cluster-keys.ts'
import type { TokenReviews } from './token-reviews.ts'

export type ServiceAccounts = {
  /** Undefined: the token is not of this cluster. Rejects while the API server's keys cannot be read. */
  verify(token: string, admitted: Admitted): Promise<Verified | Refused | undefined>
  readonly keys: Pick<ClusterKeys, 'state' | 'ageMs' | 'watch'>
}

export type Admitted = {
  audiences: readonly string[]
  namespaces: readonly string[]
  /** The API server must also have accepted the token within this time. Absent: its signature suffices. */
  reviewMs?: number
}

/** `untilMs`: when it has to be verified again, in milliseconds since the epoch. */
export type Verified = { identity: Identity; untilMs: number }

export type ServiceAccountsOptions = {
  /** Reads a path of the API server and parses the JSON answer. */
  read: (path: string) => Promise<unknown>
  reviews: TokenReviews
  clock: Clock
}

const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512']
const CLOCK_TOLERANCE_SECONDS = 5
const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/

export function createServiceAccounts(options: ServiceAccountsOptions): ServiceAccounts {
  const { clock, reviews } = options
  const clusterKeys = createClusterKeys(options)
  return {
    keys: clusterKeys,
    async verify(token, { audiences, namespaces, reviewMs }) {
      const { keys, name } = await clusterKeys.current()
      if (issuerOf(token) !== name) return undefined
      const expected = {
        issuer: name,
        audience: [...audiences],
        algorithms: ALGORITHMS,
        currentDate: new Date(clock.now()),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'sub'],
      }
      try {
        const { payload } = await jwtVerify(token, keys, expected).catch(async error => {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
          return jwtVerify(token, (await clusterKeys.newer()).keys, expected)
        })
        const identity = identityOf(payload, namespaces)
        if ('status' in identity) return identity
        if (reviewMs === undefined) return { identity, untilMs: identity.expiresMs }
        const { subject } = identity
        const reviewed = await reviews.review(token, { subject, audiences, maxAgeMs: reviewMs })
        return 'status' in reviewed ? reviewed : { identity, untilMs: reviewed.untilMs }
      } catch (error) {
        if (error instanceof errors.JOSEError) return refused(...sentenceOf(error, audiences))
        throw error
      }
    },
  }
}

function identityOf(payload: JWTPayload, namespaces: readonly string[]): Identity | Refused {
  const { sub = '', exp = 0 } = payload
  const [, namespace = '', name] = SUBJECT.exec(sub) ?? []
  if (name === undefined) return refused('UnacceptableClaim', 'The token is not of a ServiceAccount.')
  if (!namespaces.includes(namespace)) {
    const message = `This gateway serves only pods of the namespace${namespaces.length > 1 ? 's' : ''} ${namespaces.join(', ')}.`
    return { status: 403, reason: 'OtherNamespace', message }
  }
  return Object.freeze({
    id: `serviceaccount:${namespace}:${name}`,
    kind: 'serviceAccount',
    issuer: undefined,
    subject: sub,
    name: sub,
    // Those that the API server gives to every ServiceAccount.
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    scopes: undefined,
    claims: isObject(payload) ? (payload as JsonObject) : undefined,
    client: undefined,
    actor: undefined,
    expiresMs: exp * 1_000 + CLOCK_TOLERANCE_SECONDS * 1_000,
  } satisfies Identity)
}

function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss
  } catch {
    return undefined
  }
}

/** Describes what is wrong with a token, without repeating any part of it. */
function sentenceOf(
  error: errors.JOSEError,
  audiences: readonly string[],
): [reason: RefusedReason, message: string] {
  if (error instanceof errors.JWTExpired)
    return ['Expired', 'The token has expired: read the token file again, kubelet renews it.']
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
    return [
      'OtherAudience',
      `The token is for another audience: project one for audience ${audiences.join(' or ')}.`,
    ]
  return ['Unverifiable', 'The token was not issued by this cluster.']
}
