/** A router: watches a source, keeps the newest catalog, and serves it over HTTP until it is closed. */
import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../core/async.ts'
import type { RouterServer } from '../core/catalog/router-config.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { createSessions } from '../core/mcp/front/session.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { buildCatalog, type Catalog } from './catalog/catalog.ts'
import { runSliced } from './catalog/search/build.ts'
import { type Readiness, serve } from './http/serve.ts'
import { createHandler } from './meta/handler.ts'
import { createRouterMetrics, type RouterMetrics } from './metrics.ts'
import type { RouterObserver } from './observer.ts'
import { createRequestLog } from './request-log.ts'
import type { Snapshot, Source } from './source/source.ts'
import { createPool, type Pool } from './upstream/pool.ts'

export type RouterOptions = {
  source: Source
  /** Makes the upstream of a server without starting it; the router closes what it was given. */
  connect: (server: RouterServer) => Upstream
  /** Called when a request was refused because its server is not there: whoever watches it may look again. */
  onUnavailable?: (server: string) => void
  host: string
  /** 0 for any that is free. */
  port: number
  log: Log
  clock?: Clock
  /** Signs session ids: keep it, and sessions outlive a restart. Absent: a new one each time. */
  sessionKey?: string | Uint8Array
  /** Names accepted in Host and Origin headers besides loopback and `host`. */
  allowedHosts?: readonly string[]
  /** Whether the owner is ready too; the router itself is as soon as it has a catalog. */
  ready?: () => Readiness
  /** What the owner adds to /debug/status, under its own keys; absent: no such page. Never secrets. */
  debugStatus?: () => JsonObject
}

export type Router = {
  /** Of the default profile's endpoint: `http://127.0.0.1:8080/mcp`. */
  url: string
  address: { host: string; port: number }
  /** What is served now; undefined before the first snapshot. */
  catalog(): Catalog | undefined
  metrics: RouterMetrics
  /** Stops accepting, lets calls in flight finish for up to `drainMs`, then closes connections and upstreams. Idempotent. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000
/** The one process that holds what is bound to a session; replicas will have names of their own. */
const SOLE_OWNER = 'local'
/** The longest that building a catalog holds the event loop before it gives way. */
const SLICE_MS = 5

/** Resolves when the port is open; the first catalog may come later. Throws a Fault `io` where it cannot listen. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { log, clock = systemClock, connect } = options
  const pool = createPool({ connect, clock })
  const metrics = createRouterMetrics(clock, () => pool.status())
  let catalog: Catalog | undefined
  const handler = createHandler({
    current: () => catalog as Catalog,
    pool,
    observer: observe(metrics, options),
  })
  const server = await serve({
    host: options.host,
    port: options.port,
    allowedHosts: options.allowedHosts ?? [],
    handler,
    sessions: createSessions({ key: options.sessionKey ?? randomBytes(32), owner: SOLE_OWNER, clock }),
    config: () => catalog?.config,
    ready: () =>
      catalog ? (options.ready?.() ?? { ready: true }) : { ready: false, reason: 'no catalog yet' },
    metrics: async () => ({
      contentType: metrics.registry.contentType,
      text: await metrics.registry.metrics(),
    }),
    debugStatus: options.debugStatus && (() => ({ ...statusOf(catalog, pool), ...options.debugStatus?.() })),
    log,
    clock,
  })
  const stop = new AbortController()
  const adopt = (next: Catalog) => {
    catalog = next
    pool.update(next.config)
  }
  const watching = watch(options.source, stop.signal, { current: () => catalog, adopt, metrics, log })
  const { address } = server
  let closing: Promise<unknown> | undefined
  return {
    url: `http://${hostOf(address.host)}:${address.port}/mcp`,
    address,
    catalog: () => catalog,
    metrics,
    async close(drainMs = DRAIN_MS) {
      stop.abort()
      closing ??= server.close(drainMs).then(() => Promise.all([pool.close(), watching]))
      await closing
    },
  }
}

type Watch = {
  current: () => Catalog | undefined
  adopt: (catalog: Catalog) => void
  metrics: RouterMetrics
  log: Log
}

/** Builds every snapshot and swaps it in; one that does not build leaves the last good catalog in place. Never rejects. */
async function watch(
  source: Source,
  signal: AbortSignal,
  { current, adopt, metrics, log }: Watch,
): Promise<void> {
  try {
    for await (const snapshot of source.watch(signal)) {
      const { generation } = snapshot
      const begun = performance.now()
      try {
        const previous = current()
        const next = await build(snapshot, previous)
        adopt(next)
        const durationMs = performance.now() - begun
        metrics.reloaded(next, durationMs)
        const { servers, tools } = next.totals
        // Servers fall asleep and wake all day long: only what changes the offer is worth a line.
        const level = next.index === previous?.index ? 'debug' : 'info'
        log[level]({ generation, servers, tools, durationMs: Math.round(durationMs) }, 'catalog swapped')
      } catch (error) {
        metrics.reloadFailed()
        log.error({ err: error, generation }, 'catalog not built; the last good one stays')
      }
    }
  } catch (error) {
    log.error({ err: error }, 'source failed; the last good catalog stays')
  }
}

function build(snapshot: Snapshot, previous: Catalog | undefined): Promise<Catalog> {
  let sliceBegun = performance.now()
  return runSliced(buildCatalog(snapshot, previous), () => {
    if (performance.now() - sliceBegun < SLICE_MS) return undefined
    return nextTurn().then(() => {
      sliceBegun = performance.now()
    })
  })
}

function observe(metrics: RouterMetrics, { log, onUnavailable }: RouterOptions): RouterObserver {
  const requests = createRequestLog(log)
  return {
    ...metrics,
    called(record) {
      metrics.called(record)
      requests.called(record)
      if (record.outcome === 'unavailable' && record.server !== undefined) onUnavailable?.(record.server)
    },
    searched(durationMs, hits) {
      metrics.searched(durationMs, hits)
      requests.searched(durationMs, hits)
    },
  }
}

function statusOf(catalog: Catalog | undefined, pool: Pool): JsonObject {
  if (!catalog) return { generation: null }
  const { generation, totals, config } = catalog
  return { generation, profile: config.profile, totals, pool: pool.status() }
}

/** An address that a client on this machine can dial. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
