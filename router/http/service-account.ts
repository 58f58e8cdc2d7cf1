/** Tells callers by their ServiceAccount tokens, checked here against the API server's public keys: who is ours may read the catalog. */
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
  /** The API server's answer at a path, parsed. */
  read: (path: string) => Promise<unknown>
  audience: string
  /** Whose pods are let in. */
  namespace: string
  log: Log
  clock: Clock
}

export type Refusal = { status: 401 | 403 | 503; message: string }

/** Undefined for a caller that is let in; takes the header `Authorization`. Never rejects. */
export type Authenticator = (authorization: string | undefined) => Promise<Refusal | undefined>

/** Readable by every ServiceAccount: the built-in role system:service-account-issuer-discovery grants it. */
const CONFIGURATION_PATH = '/.well-known/openid-configuration'
const KEYS_PATH = '/openid/v1/jwks'
const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512']
/** For so long keys are taken for the newest, and then for so long a token that they proved: one taken back is trusted for twice this. */
const KEYS_LIFE_MS = 5 * 60_000
/** How long a caller waits for newer keys where there are older ones. */
const RELOAD_GRACE_MS = 1_000
/** Tokens with keys that we do not know make us ask for newer ones, but not more often than this. */
const MIN_RELOAD_MS = 5_000
const CLOCK_TOLERANCE_SECONDS = 5
/** Tokens that were found good, the oldest forgotten first. */
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
      return { status: 403, message: `This gateway is for pods of the namespace ${namespace} alone.` }
    good.set(hashOf(token), Math.min((payload.exp ?? 0) * 1_000, clock.now() + KEYS_LIFE_MS))
    return undefined
  }

  return async authorization => {
    const token = BEARER.exec(authorization ?? '')?.[1]
    if (!token) return refused('A ServiceAccount token is wanted: Authorization: Bearer <token>.')
    const goodUntil = good.get(hashOf(token))
    if (goodUntil !== undefined && goodUntil > clock.now()) return undefined
    try {
      return await check(token)
    } catch (error) {
      if (error instanceof errors.JOSEError) return refused(sentenceOf(error, audience))
      log.warn({ error: messageOf(error) }, 'a token could not be checked')
      return { status: 503, message: 'Tokens cannot be checked now; try again in a moment.' }
    }
  }
}

function refused(message: string): Refusal {
  return { status: 401, message }
}

/** What is wrong with a token, without repeating any of it. */
function sentenceOf(error: errors.JOSEError, audience: string): string {
  if (error instanceof errors.JWTExpired)
    return 'The token has expired: read the file again, it is renewed in time.'
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud')
    return `The token is for another audience: project one for audience ${audience}.`
  return 'The token is not one of this cluster.'
}

function namespaceOf(payload: JWTPayload): JsonValue | undefined {
  const claim = payload['kubernetes.io']
  return isObject(claim) ? claim.namespace : undefined
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

type Issuer = { name: string; keys: JWTVerifyGetKey; at: number }

/** The issuer's name and keys, read at first need, kept while they cannot be read again. */
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
    /** Not older than a moment. */
    newer: async (): Promise<Issuer> => (known && !olderThan(MIN_RELOAD_MS) ? known : reload()),
  }
}

async function readIssuer(read: AuthenticatorOptions['read'], clock: Clock): Promise<Issuer> {
  const at = clock.now()
  const [configuration, keys] = await Promise.all([read(CONFIGURATION_PATH), read(KEYS_PATH)])
  if (!isObject(configuration) || typeof configuration.issuer !== 'string')
    throw new Error('the API server does not say who issues its tokens')
  // Throws where these are no keys.
  return { name: configuration.issuer, keys: createLocalJWKSet(keys as JSONWebKeySet), at }
}
