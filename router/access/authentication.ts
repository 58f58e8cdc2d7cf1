/** Turns the credential of a request into an identity. A verified credential is remembered by its hash for a while, see trust.ts. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { AccessConfig, AuthConfig } from '../../core/catalog/access-config.ts'
import { CLUSTER_KEYS, type KeyState } from '../../core/catalog/access-verdicts.ts'
import { messageOf } from '../../core/errors.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { RemoteRules } from '../../core/mcp/client/remote-guard.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import type { AccessMetrics } from '../access-metrics.ts'
import { KEYS_UNAVAILABLE, type Refused, readBearer, refused } from './bearer.ts'
import { isInternal, NOT_OF_A_REPLICA } from './internal-credential.ts'
import { createIssuerKeyring, type IssuerKeyring } from './issuer-keyring.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { createJwtVerifier, type JwtVerifier } from './jwt.ts'
import { TooManyWait } from './key-waits.ts'
import { createNamedTokensOf } from './named-tokens.ts'
import type { ServiceAccounts, Verified } from './service-accounts.ts'
import { isTrusted, trustedUntilMs } from './trust.ts'

export type Authentication = {
  /** Who sends a request with this `Authorization` header. Returns at once if the credential is known; never rejects. */
  identify(access: AccessConfig, authorization: string | undefined): Found | Promise<Found>
  /**
   * The state of each issuer's keys, and of the API server's if ServiceAccounts are admitted. Fetches those that are due, so that no request has to
   * wait for them.
   */
  keys(access: AccessConfig): KeyState[]
  close(): Promise<void>
}

export type Found = Identity | Refused

export type AuthenticationOptions = {
  /** The values of a Secret that the config names, by key; undefined if it could not be read. */
  secret: (name: string) => Readonly<Record<string, string>> | undefined
  /** Absent outside a cluster. */
  accounts?: ServiceAccounts
  /** As in IssuerKeysOptions. */
  remotes?: Partial<RemoteRules>
  clock: Clock
  log: Log
  /** Gets the number of fetches, and the ages of keys. */
  metrics: Pick<AccessMetrics, 'keysFetched' | 'watchKeys'>
}

/** Verified credentials that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 10_000
/** Credentials that are being verified at a time. */
const MAX_VERIFYING = 256
/** Why tokens could not be verified is logged again after this time. */
const REPEAT_MS = 60_000
const MAX_REASONS = 64

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const { clock, secret, accounts, metrics } = options
  const tokensOf = createNamedTokensOf()
  const keyring = createIssuerKeyring(options)
  let current: Verifier | undefined
  const verifierOf = (auth: AuthConfig): Verifier => {
    if (current?.auth !== auth) current = verifierFor(auth, current, keyring, options)
    return current
  }
  metrics.watchKeys(() => {
    const clusterMs = accounts?.keys.ageMs()
    const cluster: [string, number][] = clusterMs === undefined ? [] : [[CLUSTER_KEYS, clusterMs]]
    return new Map([...(current?.jwt.keyAges() ?? []), ...cluster])
  })
  accounts?.keys.watch(ok => metrics.keysFetched(CLUSTER_KEYS, ok))
  // The series have to exist before the first fetch: otherwise Prometheus would not see their first increase.
  if (accounts) for (const ok of [true, false]) metrics.keysFetched(CLUSTER_KEYS, ok, 0)
  return {
    identify({ auth }, authorization) {
      if (!auth) return ANONYMOUS
      const current = verifierOf(auth)
      // Credentials of replicas are recognized before `identify` is called.
      if (isInternal(authorization)) return NOT_OF_A_REPLICA
      const token = readBearer(authorization)
      if (token === undefined) return auth.anonymous ? ANONYMOUS : NO_TOKEN
      if (typeof token !== 'string') return token
      const key = hash('sha256', token, 'base64')
      const known = current.remembered.get(key)
      if (known && isTrusted(known, clock)) return known.identity
      // Looked up each time, so that a token that was removed from the Secret is refused at once.
      const named = auth.tokens && tokensOf(secret(auth.tokens.secretName)).find(token)
      return named ?? verifyOnce(current, key, token, options)
    },
    keys({ auth }) {
      if (!auth) return []
      const cluster = auth.serviceAccounts && accounts ? [accounts.keys.state()] : []
      return [...verifierOf(auth).jwt.keys(), ...cluster]
    },
    close: keyring.close,
  }
}

const NO_TOKEN: Refused = {
  status: 401,
  reason: 'NoToken',
  message: 'A bearer token is required: Authorization: Bearer <token>.',
}
const BUSY: Refused = {
  status: 503,
  reason: 'Busy',
  message: 'Too many new tokens at once; try again in a moment.',
}
const UNKNOWN = refused('UnknownToken', 'The token is not known here.')

type Verifier = {
  auth: AuthConfig
  /** Equal for configs that admit the same credentials. */
  key: string
  jwt: JwtVerifier
  remembered: BoundedMap<{ identity: Identity; untilMs: number }>
  verifying: Map<string, Promise<Found>>
  /** When it was last logged why tokens could not be verified, by reason. */
  logged: BoundedMap<number>
}

/** A config with another `auth` starts from scratch, so that nobody stays admitted by the previous one. */
function verifierFor(
  auth: AuthConfig,
  before: Verifier | undefined,
  keyring: IssuerKeyring,
  options: AuthenticationOptions,
): Verifier {
  const key = canonicalJson(auth)
  if (before?.key === key) return { ...before, auth }
  const keys = keyring.adopt(auth.jwt)
  const issuers = auth.jwt.map((issuer, at) => [issuer, keys[at] as IssuerKeys] as const)
  return {
    auth,
    key,
    jwt: createJwtVerifier(issuers, auth.revoked, options),
    remembered: new BoundedMap(MAX_REMEMBERED),
    verifying: new Map(),
    logged: new BoundedMap(MAX_REASONS),
  }
}

/** Verifies a token once, however many requests send it at the same time. */
function verifyOnce(
  verifier: Verifier,
  key: string,
  token: string,
  options: AuthenticationOptions,
): Found | Promise<Found> {
  const { remembered, verifying } = verifier
  const running = verifying.get(key)
  if (running) return running
  if (verifying.size >= MAX_VERIFYING) return BUSY
  const found = verify(verifier, token, options)
    .then(result => {
      if ('status' in result) return result
      // The same token keeps its identity, so that what is cached by identity stays and it is new only once.
      const identity = remembered.get(key)?.identity ?? result.identity
      remembered.set(key, { identity, untilMs: trustedUntilMs({ ...result, identity }, options.clock) })
      return identity
    })
    .catch(error => {
      if (error instanceof TooManyWait) return BUSY
      logFailure(verifier, messageOf(error), options)
      return KEYS_UNAVAILABLE
    })
    .finally(() => verifying.delete(key))
  verifying.set(key, found)
  return found
}

/** Anybody can send many tokens while keys are missing: a reason is not logged for each of them. */
function logFailure({ logged }: Verifier, error: string, { clock, log }: AuthenticationOptions): void {
  const now = clock.elapsed()
  const last = logged.get(error)
  if (last !== undefined && now - last < REPEAT_MS) return
  logged.set(error, now)
  log.warn({ error }, 'tokens cannot be verified')
}

async function verify(
  { auth, jwt }: Verifier,
  token: string,
  { accounts }: AuthenticationOptions,
): Promise<Verified | Refused> {
  const user = await jwt.verify(token)
  if (user) return 'status' in user ? user : { identity: user, untilMs: user.expiresMs }
  const account = auth.serviceAccounts && (await accounts?.verify(token, auth.serviceAccounts))
  return account ?? UNKNOWN
}
