/** Verifies ServiceAccount tokens with the API server's public keys: no request waits for the API server but one with an unknown key. */
import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { type Clock, delay } from '../../core/async.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { type Refused, type RefusedReason, refused } from './bearer.ts'

export type ServiceAccounts = {
  /** Undefined: the token is not of this cluster. Rejects while the API server's keys cannot be read. */
  verify(token: string, admitted: Admitted): Promise<Identity | Refused | undefined>
}

export type Admitted = { audiences: readonly string[]; namespaces: readonly string[] }

export type ServiceAccountsOptions = {
  /** Reads a path of the API server and parses the JSON answer. */
  read: (path: string) => Promise<unknown>
  clock: Clock
}

/** Readable by every ServiceAccount: the built-in role system:service-account-issuer-discovery grants it. */
const CONFIGURATION_PATH = '/.well-known/openid-configuration'
const KEYS_PATH = '/openid/v1/jwks'
const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512']
/** How long keys count as current. */
const KEYS_LIFE_MS = 5 * 60_000
/** How long a caller waits for newer keys if there are older ones. */
const RELOAD_GRACE_MS = 1_000
/** A token signed with an unknown key triggers a reload of the keys, but not more often than this. */
const MIN_RELOAD_MS = 5_000
const CLOCK_TOLERANCE_SECONDS = 5
const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/

export function createServiceAccounts(options: ServiceAccountsOptions): ServiceAccounts {
  const { clock } = options
  const issuer = createIssuer(options)
  return {
    async verify(token, { audiences, namespaces }) {
      const { keys, name } = await issuer.current()
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
          return jwtVerify(token, (await issuer.newer()).keys, expected)
        })
        return identityOf(payload, namespaces)
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
    // As the API server would say of it.
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

type Issuer = { name: string; keys: JWTVerifyGetKey; at: number }

/** The issuer's name and keys, read at first use. If reading them again fails, the old ones stay in use. */
function createIssuer({ read, clock }: ServiceAccountsOptions) {
  let known: Issuer | undefined
  let reading: Promise<Issuer> | undefined

  const reload = () => {
    reading ??= readIssuer(read, clock)
      .then(issuer => {
        known = issuer
        return issuer
      })
      .finally(() => {
        reading = undefined
      })
    return reading
  }
  const olderThan = (ms: number) => !known || clock.now() - known.at > ms

  return {
    current: async (): Promise<Issuer> => {
      if (known && !olderThan(KEYS_LIFE_MS)) return known
      const last = known
      if (!last) return reload()
      const late = delay(clock, RELOAD_GRACE_MS).then(() => last)
      return Promise.race([reload().catch(() => last), late])
    },
    /** Keys that are at most a few seconds old. */
    newer: async (): Promise<Issuer> => (known && !olderThan(MIN_RELOAD_MS) ? known : reload()),
  }
}

async function readIssuer(read: ServiceAccountsOptions['read'], clock: Clock): Promise<Issuer> {
  const at = clock.now()
  const [configuration, keys] = await Promise.all([read(CONFIGURATION_PATH), read(KEYS_PATH)])
  if (!isObject(configuration) || typeof configuration.issuer !== 'string')
    throw new Error('the API server does not say who issues its tokens')
  // Throws if these are not keys.
  return { name: configuration.issuer, keys: createLocalJWKSet(keys as JSONWebKeySet), at }
}
