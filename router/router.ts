/** A router: watches a source, keeps the newest catalog, and serves it over HTTP until it is closed. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, systemClock } from '../core/async.ts'
import type { RouterServer } from '../core/catalog/router-config.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import { buildCatalog, type Catalog } from './catalog/catalog.ts'
import { runSliced } from './catalog/search/build.ts'
import type { Readiness } from './http/serve.ts'
import type { Authenticator } from './http/service-account.ts'
import { createRouterMetrics, type RouterMetrics } from './metrics.ts'
import type { RouterObserver } from './observer.ts'
import { openPorts } from './ports.ts'
import { createRequestLog } from './request-log.ts'
import { createNewest } from './source/newest.ts'
import type { Snapshot, Source } from './source/source.ts'
import { createPool } from './upstream/pool.ts'

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
  /** Where replicas with the same session key reach this process, an IP address; absent: there are none. */
  address?: string
  /** Names accepted in Host and Origin headers besides loopback and `host`; `*` for any Host. */
  allowedHosts?: readonly string[]
  /** Whether the owner is ready too; the router itself is as soon as it has a catalog. */
  ready?: () => Readiness
  /** What the owner adds to /debug/status, under its own keys; absent: no such page. Never secrets. */
  debugStatus?: () => JsonObject
  /** A second port for the cluster: metrics and status move there. */
  admin?: AdminPort
  /** How long the end goes on taking requests, so that callers move their connections elsewhere first. Default 0. */
  lingerMs?: number
}

export type AdminPort = {
  host: string
  /** 0 for any that is free. */
  port: number
  pod: string
  gateway: string
  /** What belongs to the newest config and could not be read yet. */
  missing: () => string[]
  /** Lets sidecars read the catalog and call servers; absent: nothing is served to them. */
  authenticate?: Authenticator
}

export type Router = {
  /** Of the default profile's endpoint: `http://127.0.0.1:8080/mcp`. */
  url: string
  address: { host: string; port: number }
  /** Of the second port, where there is one. */
  adminAddress?: { host: string; port: number }
  /** What is served now; undefined before the first snapshot. */
  catalog(): Catalog | undefined
  metrics: RouterMetrics
  /** Stops accepting, lets calls in flight finish for up to `drainMs`, then closes connections and upstreams. Idempotent. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000
/** The longest that building a catalog holds the event loop before it gives way. */
const SLICE_MS = 5

/** Resolves when the ports are open; the first catalog may come later. Throws a Fault `io` where it cannot listen. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { log, clock = systemClock, connect, admin } = options
  const pool = createPool({ connect, clock })
  const metrics = createRouterMetrics(clock, () => pool.status(), admin?.missing)
  const served = createNewest<Catalog>()
  const observer = observe(metrics, options)
  const ports = await openPorts({ options, clock, pool, metrics, served, observer })
  const stop = new AbortController()
  const adopt = (next: Catalog) => {
    served.publish(next)
    pool.update(next.config)
  }
  const watching = watch(options.source, stop.signal, { current: served.current, adopt, metrics, log })
  const { address } = ports.agents
  let closing: Promise<unknown> | undefined
  return {
    url: `http://${hostOf(address.host)}:${address.port}/mcp`,
    address,
    adminAddress: ports.admin?.address,
    catalog: served.current,
    metrics,
    async close(drainMs = DRAIN_MS) {
      stop.abort()
      closing ??= Promise.all([ports.agents.close(drainMs), ports.admin?.close(drainMs)]).then(() =>
        Promise.all([pool.close(), watching]),
      )
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

/** An address that a client on this machine can dial. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
