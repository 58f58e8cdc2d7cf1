/** Authenticates sidecars by their ServiceAccount tokens, verified here with the API server's public keys. */
import { createHash } from 'node:crypto'
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { type Clock, delay } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import { isObject, type JsonValue } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'

export type AuthenticatorOptions = {
  /** Reads a path of the API server and parses the JSON answer. */
  read: (path: string) => Promise<unknown>
  audience: string
  /** Pods of this namespace are allowed. */
  namespace: string
  log: Log
  clock: Clock
}

export type Refusal = { status: 401 | 403 | 503; message: string }

/** Checks an `Authorization` header; resolves with undefined if the caller is allowed. Never rejects. */
export type Authenticator = (authorization: string | undefined) => Promise<Refusal | undefined>

/** Readable by every ServiceAccount: the built-in role system:service-account-issuer-discovery grants it. */
const CONFIGURATION_PATH = '/.well-known/openid-configuration'
const KEYS_PATH = '/openid/v1/jwks'
const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512']
/** How long keys count as current, and then how long a token verified with them does: a revoked key is trusted for up to twice this. */
const KEYS_LIFE_MS = 5 * 60_000
/** How long a caller waits for newer keys if there are older ones. */
const RELOAD_GRACE_MS = 1_000
/** A token signed with an unknown key triggers a reload of the keys, but not more often than this. */
const MIN_RELOAD_MS = 5_000
const CLOCK_TOLERANCE_SECONDS = 5
/** Verified tokens that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000
const BEARER = /^Bearer +([^\s]+) *$/i

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { audience, namespace, log, clock } = options
  const issuer = createIssuer(options)
  const good = new BoundedMap<number>(MAX_REMEMBERED)

  async function check(token: string): Promise<Refusal | undefined> {
    const currentDate = new Date(clock.now())
    const { keys, name } = await issuer.current()
    const expected = {
      issuer: name,
      audience,
      algorithms: ALGORITHMS,
      currentDate,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
    }
    const { payload } = await jwtVerify(token, keys, expected).catch(async error => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      return jwtVerify(token, (await issuer.newer()).keys, expected)
    })
    const from = namespaceOf(payload)
    if (from !== namespace)
      return { status: 403, message: `This gateway serves only pods of the namespace ${namespace}.` }
    good.set(hashOf(token), Math.min((payload.exp ?? 0) * 1_000, clock.now() + KEYS_LIFE_MS))
    return undefined
  }

  return async authorization => {
    const token = BEARER.exec(authorization ?? '')?.[1]
    if (!token) return refused('A ServiceAccount token is required: Authorization: Bearer <token>.')
    const goodUntil = good.get(hashOf(token))
    if (goodUntil !== undefined && goodUntil > clock.now()) return undefined
    try {
      return await check(token)
    } catch (error) {
      if (error instanceof errors.JOSEError) return refused(sentenceOf(error, audience))
      log.warn({ error: messageOf(error) }, 'a ServiceAccount token could not be verified')
      return { status: 503, message: 'Tokens cannot be verified now; try again in a moment.' }
    }
  }
}

function refused(message: string): Refusal {
  return { status: 401, message }
}

/** Describes what is wrong with a token, without repeating any part of it. */
function sentenceOf(error: errors.JOSEError, audience: string): string {
  if (error instanceof errors.JWTExpired)
    return 'The token has expired: read the token file again, kubelet renews it.'
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
    return `The token is for another audience: project one for audience ${audience}.`
  return 'The token was not issued by this cluster.'
}

function namespaceOf(payload: JWTPayload): JsonValue | undefined {
  const claim = payload['kubernetes.io']
  return isObject(claim) ? claim.namespace : undefined
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

type Issuer = { name: string; keys: JWTVerifyGetKey; at: number }

/** The issuer's name and keys, read at first use. If reading them again fails, the old ones stay in use. */
function createIssuer({ read, clock }: AuthenticatorOptions) {
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

async function readIssuer(read: AuthenticatorOptions['read'], clock: Clock): Promise<Issuer> {
  const at = clock.now()
  const [configuration, keys] = await Promise.all([read(CONFIGURATION_PATH), read(KEYS_PATH)])
  if (!isObject(configuration) || typeof configuration.issuer !== 'string')
    throw new Error('the API server does not say who issues its tokens')
  // Throws if these are not keys.
  return { name: configuration.issuer, keys: createLocalJWKSet(keys as JSONWebKeySet), at }
}
