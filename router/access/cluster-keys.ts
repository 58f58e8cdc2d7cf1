/** The public keys of ServiceAccount tokens: read from the API server, kept while it cannot be reached, and read again when a token names an unknown one. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../core/async.ts'
import { CLUSTER_KEYS, type KeyState } from '../../core/catalog/access-verdicts.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import {
  ageOf,
  type FetchTime,
  failureFields,
  fetchTime,
  KEYS_LIFE_MS,
  MAX_STALE_MS,
  MIN_FETCH_MS,
} from './key-life.ts'
import { createKeyWaits } from './key-waits.ts'

export type ClusterKeys = {
  /** The keys to verify a token with. Rejects while there are none, while they are older than a day, or if too many wait for them. */
  current(): Promise<Issuer>
  /** Keys that are at most a few seconds old. */
  newer(): Promise<Issuer>
  /** The state of the keys. Reads them if they are due, without waiting. */
  state(): KeyState
  /** The time since the keys were read; undefined if they were not. */
  ageMs(): number | undefined
  /** `onAttempt` is called after each attempt to read them. */
  watch(onAttempt: (ok: boolean) => void): void
}

export type ClusterKeysOptions = {
  /** Reads a path of the API server and parses the JSON answer. */
  read: (path: string) => Promise<unknown>
  clock: Clock
}

export type Issuer = { name: string; keys: JWTVerifyGetKey } & FetchTime

/** Readable by every ServiceAccount: the built-in role system:service-account-issuer-discovery grants it. */
const CONFIGURATION_PATH = '/.well-known/openid-configuration'
const KEYS_PATH = '/openid/v1/jwks'
/** How long a caller waits for newer keys if there are older ones. */
const RELOAD_GRACE_MS = 1_000

export function createClusterKeys({ read, clock }: ClusterKeysOptions): ClusterKeys {
  let known: Issuer | undefined
  let reading: Promise<Issuer> | undefined
  let triedMs = Number.NEGATIVE_INFINITY
  let failure: string | undefined
  let onAttempt: (ok: boolean) => void = () => {}

  const readNow = async (): Promise<Issuer> => {
    try {
      known = await readIssuer(read, clock)
      failure = undefined
      onAttempt(true)
      return known
    } catch (error) {
      failure = messageOf(error)
      onAttempt(false)
      throw error
    }
  }
  const olderThan = (ms: number) => !known || ageOf(known, clock) > ms
  /** Reads the keys, at most once at a time; undefined if the last attempt failed less than MIN_FETCH_MS ago. */
  const reload = (): Promise<Issuer> | undefined => {
    if (reading || (failure !== undefined && clock.elapsed() - triedMs <= MIN_FETCH_MS)) return reading
    triedMs = clock.elapsed()
    reading = readNow().finally(() => {
      reading = undefined
    })
    // If nobody waits for it, a rejection must not be unhandled.
    reading.catch(() => {})
    return reading
  }
  const waits = createKeyWaits()
  const reloaded = async (): Promise<Issuer> => {
    const read = reload()
    if (!read)
      throw new Fault('unavailable', failure ?? 'the API server cannot be reached', { retryable: true })
    return waits(read)
  }
  return {
    async current() {
      if (known && !olderThan(KEYS_LIFE_MS)) return known
      const last = known
      if (!last || olderThan(MAX_STALE_MS)) return reloaded()
      const read = reload()
      return read ? waits(soonOr(last, read, clock)).catch(() => last) : last
    },
    newer: async () => (known && !olderThan(MIN_FETCH_MS) ? known : reloaded()),
    state() {
      if (olderThan(KEYS_LIFE_MS)) reload()
      const state = stateOf(failure, known !== undefined, olderThan(MAX_STALE_MS))
      const failed = failure !== undefined && failureFields(failure, known?.fetchedMs)
      return { issuer: CLUSTER_KEYS, state, ...failed }
    },
    ageMs: () => known && ageOf(known, clock),
    watch(listener) {
      onAttempt = listener
    },
  }
}

/** What `read` finds, or the last keys if it fails or takes long. Never rejects: nobody may be waiting for it. */
function soonOr(last: Issuer, read: Promise<Issuer>, clock: Clock): Promise<Issuer> {
  return new Promise(resolve => {
    const timer = clock.after(RELOAD_GRACE_MS, () => resolve(last))
    read.then(resolve, () => resolve(last)).finally(() => timer.cancel())
  })
}

function stateOf(failure: string | undefined, isKnown: boolean, isTooOld: boolean): KeyState['state'] {
  if (failure === undefined) return isKnown ? 'ready' : 'pending'
  return isTooOld ? 'unavailable' : 'stale'
}

async function readIssuer(read: ClusterKeysOptions['read'], clock: Clock): Promise<Issuer> {
  const times = fetchTime(clock)
  const [configuration, keys] = await Promise.all([read(CONFIGURATION_PATH), read(KEYS_PATH)])
  if (!isObject(configuration) || typeof configuration.issuer !== 'string')
    throw new Fault('invalid_data', 'the API server does not say who issues its tokens')
  // Throws if these are not keys.
  return { name: configuration.issuer, keys: createLocalJWKSet(keys as JSONWebKeySet), ...times }
}
