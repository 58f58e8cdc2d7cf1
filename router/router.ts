/** A router: watches a source, keeps the newest catalog, and serves it over HTTP until it is closed. */
import { type Clock, systemClock } from '../core/async.ts'
import type { RouterServer } from '../core/catalog/router-config.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import type { Tracer } from '../core/trace.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { Readiness } from './http/serve.ts'
import type { Authenticator } from './http/service-account.ts'
import { createRouterMetrics, type RouterMetrics } from './metrics.ts'
import type { RouterObserver } from './observer.ts'
import { openPorts } from './ports.ts'
import { createRequestLog } from './request-log.ts'
import {
  createSemantic,
  type SearchStatus,
  type Semantic,
  type SemanticDependencies,
} from './semantic/semantic.ts'
import { semanticMetrics } from './semantic/semantic-metrics.ts'
import { createNewest } from './source/newest.ts'
import type { Source } from './source/source.ts'
import { createSwaps } from './swaps.ts'
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
  /** What the search by meaning is made of; absent: by words alone. */
  semantic?: SemanticDependencies
  /** How long the end goes on taking requests, so that callers move their connections elsewhere first. Default 0. */
  lingerMs?: number
  /** Absent: nothing is traced. The router does not close it. */
  tracer?: Tracer
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
  /** How the search by meaning does. */
  search(): SearchStatus
  /** Stops accepting, lets calls in flight finish for up to `drainMs`, then closes connections and upstreams. Idempotent. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000
const LOOPBACK_HOST = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/
const OPEN_TO_ALL =
  'there is no authentication: whoever reaches this port from another machine can call every tool'

/** Resolves when the ports are open; the first catalog may come later. Throws a Fault `unavailable` where it cannot listen. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { log, clock = systemClock, connect, admin } = options
  const pool = createPool({ connect, clock })
  const metrics = createRouterMetrics(clock, () => pool.status(), admin?.missing)
  const served = createNewest<Catalog>()
  const observer = observe(metrics, options)
  const semantic: Semantic = createSemantic({
    means: options.semantic,
    log,
    clock,
    onVectors: () => swaps.refresh(),
    onMissed: semanticMetrics(metrics.registry, () => semantic.status().pending).missed,
  })
  const onSwapped = ({ config }: Catalog) => pool.update(config)
  const swaps = createSwaps({ served, semantic, onSwapped, metrics, log })
  const ports = await openPorts({ options, clock, pool, metrics, served, observer, semantic })
  if (!LOOPBACK_HOST.test(options.host)) log.warn({ host: options.host }, OPEN_TO_ALL)
  const stop = new AbortController()
  const watching = swaps.follow(options.source, stop.signal)
  const { address } = ports.agents
  let closing: Promise<unknown> | undefined
  return {
    url: `http://${hostOf(address.host)}:${address.port}/mcp`,
    address,
    adminAddress: ports.admin?.address,
    catalog: served.current,
    metrics,
    search: semantic.status,
    async close(drainMs = DRAIN_MS) {
      stop.abort()
      closing ??= Promise.all([ports.agents.close(drainMs), ports.admin?.close(drainMs)]).then(() =>
        Promise.all([pool.close(), ports.results.close(), watching.then(semantic.close)]),
      )
      await closing
    },
  }
}

function observe(metrics: RouterMetrics, { log, onUnavailable, tracer }: RouterOptions): RouterObserver {
  const requests = createRequestLog(log)
  return {
    ...metrics,
    tracer,
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
