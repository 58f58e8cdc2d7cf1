/** The public keys of a JWT issuer: fetched by discovery or from a URL, kept, and fetched again when a token names an unknown one. */
import { type LookupAddress, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Agent } from 'undici'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { AccessMetrics } from '../access-metrics.ts'

export type IssuerKeys = {
  /** Finds the key of a token, for jose. Rejects with Fault `unavailable` if there are no keys that are current enough. */
  readonly find: JWTVerifyGetKey
  /** How they stand; fetches those that are due, without waiting. */
  state(): KeyState
  /** The time since the keys were fetched; undefined if they were not. */
  ageMs(): number | undefined
  close(): Promise<void>
}

export type IssuerKeysOptions = { clock: Clock; log: Log; metrics: Pick<AccessMetrics, 'keysFetched'> }

/** Keys are fetched again in the background when they are older. */
const KEYS_LIFE_MS = 5 * 60_000
/** If fetching fails, old keys verify tokens for this long. */
const MOST_STALE_MS = 24 * 60 * 60_000
/** However many tokens name unknown keys. */
const MIN_FETCH_MS = 5_000
const TIMEOUT_MS = 5_000
const MAX_BYTES = 1024 * 1024
const MAX_MESSAGE = 500
/** RFC 8414 and OpenID Connect Discovery 1.0. */
const DISCOVERY_PATHS = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']

export function createIssuerKeys(
  issuer: JwtIssuerConfig,
  { clock, log, metrics }: IssuerKeysOptions,
): IssuerKeys {
  const agent = agentFor(issuer)
  let known = issuer.jwks && {
    find: createLocalJWKSet(issuer.jwks as unknown as JSONWebKeySet),
    atMs: clock.now(),
  }
  let triedMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined
  let failure: Failure | undefined

  const fetchKeys = async (): Promise<void> => {
    try {
      const jwks = await fetchKeySet(issuer, agent)
      known = { find: createLocalJWKSet(jwks as unknown as JSONWebKeySet), atMs: clock.now() }
      failure = undefined
      metrics.keysFetched(issuer.name, true)
    } catch (error) {
      failure = { message: messageOf(error), isMismatch: error instanceof IssuerMismatch }
      metrics.keysFetched(issuer.name, false)
      log.warn({ issuer: issuer.name, error: messageOf(error) }, 'the keys of an issuer could not be fetched')
    }
  }
  /** At most one fetch at a time, and one in five seconds. */
  const refresh = (): Promise<void> => {
    if (!issuer.keysFrom || clock.now() - triedMs < MIN_FETCH_MS) return fetching ?? Promise.resolve()
    triedMs = clock.now()
    fetching = fetchKeys().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  const isFixed = !issuer.keysFrom
  const isOlder = (ms: number) => !known || (!isFixed && clock.now() - known.atMs > ms)
  return {
    async find(header, token) {
      if (!known) await refresh()
      else if (isOlder(KEYS_LIFE_MS)) void refresh()
      if (!known || isOlder(MOST_STALE_MS)) throw unavailable(issuer)
      try {
        return await known.find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        await refresh()
        return known.find(header, token)
      }
    },
    state() {
      if (isOlder(KEYS_LIFE_MS)) void refresh()
      const state = stateOf(failure, isOlder(MOST_STALE_MS), known !== undefined)
      return { issuer: issuer.name, state, ...(failure && told(failure, known?.atMs)) }
    },
    ageMs: () => (known && issuer.keysFrom ? clock.now() - known.atMs : undefined),
    close: () => agent.destroy(),
  }
}

function agentFor({ ca }: JwtIssuerConfig): Agent {
  return new Agent({
    connect: { timeout: TIMEOUT_MS, lookup: guardedLookup, ...(ca !== undefined && { ca }) },
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
}

type Failure = { message: string; isMismatch: boolean }

/** What answers as an issuer names another one. */
class IssuerMismatch extends Fault {}

function stateOf(failure: Failure | undefined, isTooOld: boolean, isKnown: boolean): KeyState['state'] {
  if (failure?.isMismatch) return 'mismatch'
  if (isTooOld) return failure || isKnown ? 'unavailable' : 'pending'
  return failure ? 'stale' : 'ready'
}

function told({ message }: Failure, fetchedMs: number | undefined): Pick<KeyState, 'message' | 'fetchedAt'> {
  const fetchedAt = fetchedMs === undefined ? undefined : new Date(fetchedMs).toISOString()
  return { message: message.slice(0, MAX_MESSAGE), ...(fetchedAt !== undefined && { fetchedAt }) }
}

function unavailable({ name }: JwtIssuerConfig): Fault {
  return new Fault('unavailable', `The keys of issuer ${name} are not available`, { retryable: true })
}

/** Throws if what is found is no key set, or belongs to another issuer. */
async function fetchKeySet({ issuer, keysFrom }: JwtIssuerConfig, agent: Agent): Promise<JsonObject> {
  const uri = keysFrom && 'uri' in keysFrom ? keysFrom.uri : await discover(issuer, agent)
  const jwks = await fetchJson(uri, agent)
  if (!Array.isArray(jwks.keys)) throw new Fault('invalid_data', `${uri} has no JSON Web Key Set`)
  return jwks
}

/** The metadata must repeat the issuer exactly (RFC 8414, section 3.3): otherwise one could stand in for another. */
async function discover(issuer: string, agent: Agent): Promise<string> {
  const base = issuer.replace(/\/$/, '')
  let failure: unknown
  for (const path of DISCOVERY_PATHS) {
    try {
      const metadata = await fetchJson(`${base}${path}`, agent)
      if (metadata.issuer !== issuer)
        throw new IssuerMismatch('invalid_data', `The metadata at ${base}${path} is of another issuer`)
      if (typeof metadata.jwks_uri === 'string' && isAllowed(metadata.jwks_uri, issuer))
        return metadata.jwks_uri
      throw new Fault('invalid_data', `The metadata at ${base}${path} names no usable jwks_uri`)
    } catch (error) {
      if (!failure || error instanceof IssuerMismatch) failure = error
    }
  }
  throw failure
}

/** A key set is fetched without TLS only where the issuer is, which the schema allows on loopback and in the cluster. */
function isAllowed(uri: string, issuer: string): boolean {
  const url = URL.parse(uri)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && url.host === URL.parse(issuer)?.host)
}

async function fetchJson(uri: string, agent: Agent): Promise<JsonObject> {
  const url = new URL(uri)
  if (isIP(bare(url.hostname)) !== 0) refuseAddress(bare(url.hostname), url.hostname)
  const { statusCode, body } = await agent.request({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    method: 'GET',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const tooLarge = () => new Fault('invalid_data', `The answer of ${url.host} is too large`)
  const text = (await readBounded(body, MAX_BYTES, tooLarge)).toString('utf8')
  if (statusCode !== 200) throw new Fault('upstream_protocol', `${url.host} answered ${statusCode}`)
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch {
    // Told as any other text that is no object.
  }
  throw new Fault('invalid_data', `The answer of ${url.host} is not JSON`)
}

function bare(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, '')
}

/** Addresses that no issuer has: link-local ones, where clouds serve their machines' credentials, and unspecified ones. */
const NO_ISSUER = [
  /^169\.254\./,
  /^0\./,
  /^(?:::ffff:)?(?:169\.254|0)\./i,
  /^fe[89ab][0-9a-f]:/i,
  /^::$/,
  /^fd00:ec2::254$/i,
]
const LOOPBACK = /^(?:(?:::ffff:)?127\.\d+\.\d+\.\d+|::1)$/i

/** Loopback is allowed to names that say so: the schema admits no others without TLS. */
function refuseAddress(address: string, hostname: string): void {
  const isLoopback = LOOPBACK.test(address)
  const saysSo = hostname === 'localhost' || isIP(bare(hostname)) !== 0
  if (NO_ISSUER.some(pattern => pattern.test(address)) || (isLoopback && !saysSo))
    throw new Fault('invalid_data', `${hostname} has the address ${address}, which no issuer may have`)
}

/** Checks what a name resolves to when it is connected, so that it cannot change between check and use. */
const guardedLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error) return callback(error, [])
    try {
      for (const { address } of found) refuseAddress(address, hostname)
    } catch (refusal) {
      return callback(refusal as Error, [])
    }
    if (options.all) return callback(null, found)
    const [first] = found
    callback(null, first?.address ?? '', first?.family)
  })
}
