/** The public keys of a JWT issuer: fetched by discovery or from a URL, kept, and fetched again when a token names an unknown one. */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { Agent } from 'undici'
import type { Clock } from '../../core/async.ts'
import { readBounded } from '../../core/bounded.ts'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'
import { deadline } from '../../core/deadline.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import { createHostGuard, type HostGuard, type HostRules } from '../../core/host-guard.ts'
import { isObject, type JsonObject, tryParseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { RemoteRules } from '../../core/mcp/client/remote-guard.ts'
import { createOutbound } from '../../core/outbound.ts'
import type { AccessMetrics } from '../access-metrics.ts'
import { mayHaveKeysOf } from './issuer-address.ts'
import { ageOf, failureFields, fetchTime, KEYS_LIFE_MS, MAX_STALE_MS, MIN_FETCH_MS } from './key-life.ts'
import { createKeyWaits } from './key-waits.ts'

export type IssuerKeys = {
  /** Finds the key of a token, for jose. Rejects with Fault `unavailable` if there are no keys that are current enough, or too many wait for newer ones. */
  readonly find: JWTVerifyGetKey
  /** The state of the keys. Fetches them if they are due, without waiting. */
  state(): KeyState
  /** The time since the keys were fetched; undefined if they were not. */
  ageMs(): number | undefined
  close(): Promise<void>
}

export type IssuerKeysOptions = {
  clock: Clock
  log: Log
  metrics: Pick<AccessMetrics, 'keysFetched'>
  /** Which addresses issuers may have. Absent: all but link-local ones. */
  remotes?: Partial<RemoteRules>
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1024 * 1024
/** Loopback is allowed to hosts whose names say so: the schema admits no others without TLS. */
const NO_ISSUER: Pick<HostRules, 'loopback' | 'refusal'> = {
  loopback: 'named',
  refusal: (hostname, address) =>
    new Fault('invalid_data', `${hostname} has the address ${address}, which no issuer may have`),
}
/** OpenID Connect Discovery 1.0. */
const OPENID_PATH = '/.well-known/openid-configuration'
/** RFC 8414. */
const OAUTH_PATH = '/.well-known/oauth-authorization-server'

export function createIssuerKeys(
  issuer: JwtIssuerConfig,
  { clock, log, metrics, remotes }: IssuerKeysOptions,
): IssuerKeys {
  const web = webFor(issuer, clock, remotes)
  const keysOf = (jwks: unknown) => {
    const find = createLocalJWKSet(jwks as JSONWebKeySet)
    return { find, ...fetchTime(clock) }
  }
  let known = issuer.jwks && keysOf(issuer.jwks)
  let triedMs = Number.NEGATIVE_INFINITY
  let fetching: Promise<void> | undefined
  let failure: Failure | undefined

  const fetchKeys = async (): Promise<void> => {
    try {
      known = keysOf(await fetchKeySet(issuer, web))
      failure = undefined
      metrics.keysFetched(issuer.name, true)
    } catch (error) {
      failure = { message: messageOf(error), isMismatch: error instanceof IssuerMismatch }
      metrics.keysFetched(issuer.name, false)
      log.warn({ issuer: issuer.name, error: messageOf(error) }, 'the keys of an issuer could not be fetched')
    }
  }
  /** At most one fetch at a time, and one in five seconds. Undefined: there is nothing to wait for. */
  const refresh = (): Promise<void> | undefined => {
    if (!issuer.keysFrom || fetching || clock.elapsed() - triedMs < MIN_FETCH_MS) return fetching
    triedMs = clock.elapsed()
    fetching = fetchKeys().finally(() => {
      fetching = undefined
    })
    return fetching
  }

  const refreshed = refreshing(refresh)
  const isOlder = (ms: number) => !known || (issuer.keysFrom !== undefined && ageOf(known, clock) > ms)
  return {
    async find(header, token) {
      if (isOlder(MAX_STALE_MS)) await refreshed()
      else if (isOlder(KEYS_LIFE_MS)) void refresh()
      if (!known || isOlder(MAX_STALE_MS)) throw unavailable(issuer)
      try {
        return await known.find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        await refreshed()
        return known.find(header, token)
      }
    },
    state() {
      if (isOlder(KEYS_LIFE_MS)) void refresh()
      const state = stateOf(failure, isOlder(MAX_STALE_MS), known !== undefined)
      return { issuer: issuer.name, state, ...(failure && failureFields(failure.message, known?.fetchedMs)) }
    },
    ageMs: () => (known && issuer.keysFrom ? ageOf(known, clock) : undefined),
    close: () => web.agent.destroy(),
  }
}

/** Returns a function that calls `refresh` and waits for the fetch, if there is one. */
function refreshing(refresh: () => Promise<void> | undefined): () => Promise<void> {
  const waits = createKeyWaits()
  return async () => {
    const fetched = refresh()
    if (fetched) await waits(fetched)
  }
}

function webFor({ ca }: JwtIssuerConfig, clock: Clock, remotes: Partial<RemoteRules> | undefined): Web {
  const guard = issuerGuard(remotes)
  const agent = new Agent({ connect: createOutbound({ timeoutMs: TIMEOUT_MS, guard, ca }) })
  return { agent, clock, guard }
}

/** Decides which hosts and addresses issuers may have. */
export function issuerGuard(remotes: Partial<RemoteRules> | undefined): HostGuard {
  return createHostGuard({
    ...NO_ISSUER,
    refused: remotes?.refusedAddresses,
    allowed: remotes?.remoteHosts,
    proxyFor: remotes?.proxyFor,
  })
}

/** How the keys of one issuer are fetched. */
type Web = { agent: Agent; clock: Clock; guard: HostGuard }

type Failure = { message: string; isMismatch: boolean }

/** The metadata at an issuer's address is that of another issuer. */
class IssuerMismatch extends Fault {}

function stateOf(failure: Failure | undefined, isTooOld: boolean, isKnown: boolean): KeyState['state'] {
  if (failure?.isMismatch) return 'mismatch'
  if (isTooOld) return failure || isKnown ? 'unavailable' : 'pending'
  return failure ? 'stale' : 'ready'
}

function unavailable({ name }: JwtIssuerConfig): Fault {
  return new Fault('unavailable', `The keys of issuer ${name} are not available`, { retryable: true })
}

/** Throws if what is found is not a key set, or belongs to another issuer. */
async function fetchKeySet({ issuer, keysFrom }: JwtIssuerConfig, web: Web): Promise<JsonObject> {
  const uri = keysFrom && 'uri' in keysFrom ? keysFrom.uri : await discover(issuer, web)
  const jwks = await fetchJson(uri, web)
  if (!Array.isArray(jwks.keys)) throw new Fault('invalid_data', `${uri} has no JSON Web Key Set`)
  return jwks
}

/** The URL of an issuer's keys. The metadata must repeat the issuer exactly (RFC 8414, section 3.3), or one issuer could pretend to be another. */
async function discover(issuer: string, web: Web): Promise<string> {
  let failure: unknown
  for (const url of metadataUrls(issuer)) {
    try {
      const metadata = await fetchJson(url, web)
      if (metadata.issuer !== issuer)
        throw new IssuerMismatch('invalid_data', `The metadata at ${url} is of another issuer`)
      if (typeof metadata.jwks_uri === 'string' && mayHaveKeysOf(issuer, metadata.jwks_uri))
        return metadata.jwks_uri
      throw new Fault('invalid_data', `The metadata at ${url} names no usable jwks_uri`)
    } catch (error) {
      if (!failure || error instanceof IssuerMismatch) failure = error
    }
  }
  throw failure
}

/** RFC 8414, section 3.1, puts its path before that of the issuer; many issuers put it after their own, as OpenID Connect does. */
function metadataUrls(issuer: string): Set<string> {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(base)
  const path = pathname === '/' ? '' : pathname
  return new Set([`${base}${OPENID_PATH}`, `${origin}${OAUTH_PATH}${path}`, `${base}${OAUTH_PATH}`])
}

/** Fetches a JSON object. Follows no redirect. */
async function fetchJson(uri: string, { agent, clock, guard }: Web): Promise<JsonObject> {
  const url = new URL(uri)
  guard.check(url)
  const limit = deadline(clock, TIMEOUT_MS, `${url.host} did not answer within ${TIMEOUT_MS / 1_000} s`)
  try {
    const { statusCode, body } = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: 'GET',
      headers: { accept: 'application/json' },
      signal: limit.signal,
    })
    const tooLarge = () => new Fault('invalid_data', `The answer of ${url.host} is too large`)
    const text = (await readBounded(body, MAX_BYTES, tooLarge)).toString('utf8')
    if (statusCode !== 200) throw new Fault('upstream_protocol', `${url.host} answered ${statusCode}`)
    return readObject(text, url)
  } finally {
    limit.clear()
  }
}

function readObject(text: string, { host }: URL): JsonObject {
  const value = tryParseJson(text)
  if (isObject(value)) return value
  throw new Fault('invalid_data', `The answer of ${host} is not JSON`)
}
