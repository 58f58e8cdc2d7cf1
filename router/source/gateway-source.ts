/** The source of a sidecar: polls a gateway's catalog for changes and keeps the last one while the gateway is unreachable. */
import { type Clock, delay, systemClock } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { readBounded } from '../../core/bounded.ts'
import { serverCatalogOf } from '../../core/catalog/catalog-shape.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { catalogVersion } from '../../core/catalog/version.ts'
import { deadline, faultOf } from '../../core/deadline.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createAssembly } from './assembly.ts'
import { CATALOG_PATH, type CatalogIndex, isCatalogIndex } from './catalog-index.ts'
import { LastGood } from './last-good.ts'
import type { Source } from './source.ts'

/** How long the gateway is asked to wait for a change before it answers that there is none. */
const WAIT_SECONDS = 25
const REQUEST_TIMEOUT_MS = 40_000
const MAX_ANSWER_BYTES = 128 * 2 ** 20
/** Pause after an immediate answer without a newer generation: replicas may describe the same generation differently. */
const PAUSE_MS = 1_000
const RETRY = { firstMs: 1_000, longestMs: 10_000 }
/**
 * An older generation comes from a replica that lags and is ignored, unless all answers stay older for this long: then the cluster's
 * state was restored from a backup.
 */
const LAG_MS = 60_000
const MAX_QUOTED_CHARACTERS = 300

export type GatewaySource = Source & {
  /** Polls until `signal` aborts; never rejects. To be called once. */
  run(signal: AbortSignal): Promise<void>
  /** Servers whose newest catalog was not read yet. */
  missing(): string[]
}

export type GatewaySourceOptions = {
  /** URL of the gateway's admin port, without a trailing slash. */
  url: string
  /** Called for every request, since the token rotates. */
  token: () => Promise<string>
  log: Log
  clock?: Clock
  random?: () => number
}

export function createGatewaySource(options: GatewaySourceOptions): GatewaySource {
  const { log, clock = systemClock, random } = options
  const catalogs = new LastGood<ServerCatalog>({
    what: 'catalog',
    read: (server, version, _known, signal) => readCatalog(options, server, version, signal),
    onProgress: () => assembly.progress(),
    log,
    clock,
    random,
  })
  const assembly = createAssembly({ catalogs, clock })
  const adopt = ({ generation, config, catalogs: versions }: CatalogIndex) => {
    catalogs.want(new Map(Object.entries(versions)))
    assembly.adopt(generation, config)
  }
  return {
    watch: assembly.watch,
    async run(signal) {
      await follow(options, adopt, signal)
      catalogs.close()
      assembly.close()
    },
    missing: () => catalogs.missing(),
  }
}

/** Polls in a loop, each time for anything newer than the last answer. */
async function follow(
  options: GatewaySourceOptions,
  adopt: (index: CatalogIndex) => void,
  signal: AbortSignal,
): Promise<void> {
  const { log, clock = systemClock, random = Math.random } = options
  let last = { etag: '', generation: 0, at: clock.elapsed() }
  let failures = 0
  while (!signal.aborted) {
    const asked = clock.elapsed()
    try {
      const answer = await get(
        options,
        CATALOG_PATH,
        { 'if-none-match': last.etag, prefer: `wait=${WAIT_SECONDS}` },
        signal,
      )
      const index = answer.status === 304 ? undefined : readIndex(answer.json)
      const isNewer = index !== undefined && index.generation > last.generation
      const lags =
        index !== undefined && index.generation < last.generation && clock.elapsed() - last.at < LAG_MS
      if (index && !lags) adopt(index)
      if (!lags)
        last = {
          etag: answer.etag ?? last.etag,
          generation: index?.generation ?? last.generation,
          at: clock.elapsed(),
        }
      if (failures > 0) log.info('the gateway is reachable again')
      failures = 0
      const cameAtOnce = clock.elapsed() - asked < PAUSE_MS
      if (cameAtOnce && !isNewer) await delay(clock, PAUSE_MS, signal).catch(() => {})
    } catch (error) {
      if (signal.aborted) return
      if (failures === 0)
        log.warn({ error: messageOf(error) }, "the gateway's catalog cannot be read; the last one stays")
      await delay(clock, backoffMs(RETRY, failures++, random), signal).catch(() => {})
    }
  }
}

function readIndex(json: unknown): CatalogIndex {
  if (isCatalogIndex(json)) return json
  throw new Fault('invalid_data', "The gateway's answer is not a catalog")
}

async function readCatalog(
  options: GatewaySourceOptions,
  server: string,
  version: string,
  signal: AbortSignal,
): Promise<ServerCatalog> {
  const path = `${CATALOG_PATH}/servers/${encodeURIComponent(version)}`
  const catalog = serverCatalogOf((await get(options, path, {}, signal)).json)
  if (catalog?.server !== server || catalogVersion(catalog) !== version)
    throw new Fault('invalid_data', `The gateway answered with a catalog other than that of ${server}`)
  return catalog
}

type Answer = { status: number; etag?: string; json?: unknown }

/** Throws a Fault if the gateway is unreachable or too slow, refuses, or its answer is too large or not JSON. */
async function get(
  { url, token, clock = systemClock }: GatewaySourceOptions,
  path: string,
  headers: Record<string, string>,
  parent: AbortSignal,
): Promise<Answer> {
  const limit = deadline(clock, REQUEST_TIMEOUT_MS, 'The gateway did not answer in time', parent)
  const { signal } = limit
  try {
    const authorization = `Bearer ${await token()}`
    const response = await fetch(url + path, {
      headers: { ...headers, authorization },
      redirect: 'error',
      signal,
    })
    const { status } = response
    const tooLarge = () => new Fault('invalid_data', "The gateway's answer is too large")
    const text = (await readBounded(response.body ?? [], MAX_ANSWER_BYTES, tooLarge)).toString('utf8')
    const etag = response.headers.get('etag') ?? undefined
    if (status === 304) return { status, etag }
    if (status === 200) return { status, etag, json: parsed(text) }
    throw new Fault('unavailable', `The gateway answered ${status}: ${text.slice(0, MAX_QUOTED_CHARACTERS)}`)
  } catch (cause) {
    if (signal.aborted) throw faultOf(signal)
    throw cause instanceof Fault
      ? cause
      : new Fault('unavailable', `The gateway cannot be reached: ${messageOf(cause)}`, { cause })
  } finally {
    limit.clear()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Fault('invalid_data', "The gateway's answer is not valid JSON", { cause })
  }
}
