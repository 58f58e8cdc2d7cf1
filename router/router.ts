/** A router: watches a source, keeps the newest catalog and serves it over HTTP until it is closed. */
import { type Clock, systemClock } from '../core/async.ts'
import type { RouterConfig, RouterServer } from '../core/catalog/router-config.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Identity } from '../core/mcp/identity.ts'
import type { Upstream } from '../core/mcp/upstream.ts'
import type { Tracer } from '../core/trace.ts'
import { createAccessStates } from './access/access-state.ts'
import { type AuthenticationOptions, createAuthentication } from './access/authentication.ts'
import { type Audit, type AuditOptions, createAudit } from './audit/audit.ts'
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
  /** Creates the upstream of a server without starting it. The router closes the upstreams that it was given. */
  connect: (server: RouterServer) => Upstream
  /** Called when a request was refused because its server is unavailable, so that discovery can check the server again. */
  onUnavailable?: (server: string) => void
  host: string
  /** 0: any free port. */
  port: number
  log: Log
  clock?: Clock
  /** Signs session ids: with the same key, sessions survive a restart. Default: a new random key. */
  sessionKey?: string | Uint8Array
  /** IP address at which replicas with the same session key reach this process. Absent: there are no replicas. */
  address?: string
  /** Names accepted in Host and Origin headers besides loopback names and `host`; `*` accepts any Host. */
  allowedHosts?: readonly string[]
  /** Whether the owner of the router is ready too. The router itself is ready once it has a catalog. */
  ready?: () => Readiness
  /** What the owner adds to /debug/status, under its own keys; never secrets. Absent: the page is not served. */
  debugStatus?: () => JsonObject
  /** A second port for the cluster, which then serves metrics and status. */
  admin?: AdminPort
  /** What search by meaning needs. Absent: search uses words alone. */
  semantic?: SemanticDependencies
  /** Where the credentials of callers are looked up. Absent: no named tokens and no ServiceAccounts are known. */
  credentials?: Pick<AuthenticationOptions, 'secret' | 'accounts'>
  /** Who callers without a credential are, whatever `auth` says: only where nobody else can reach the port. */
  assumed?: Identity
  /** How long closing still accepts requests, so that callers can move their connections first. Default: 0. */
  lingerMs?: number
  /** Absent: nothing is traced. The router does not close the tracer. */
  tracer?: Tracer
  /** Where audit lines are written. Absent: standard output and standard error of this process, as the gateway says. */
  auditStream?: AuditOptions['stream']
}

export type AdminPort = {
  host: string
  /** 0: any free port. */
  port: number
  pod: string
  gateway: string
  /** What could not be read yet of the newest config. */
  missing: () => string[]
  /** Lets sidecars read the catalog and call servers. Absent: nothing is served to them. */
  authenticate?: Authenticator
}

export type Router = {
  /** URL of the default profile's endpoint: `http://127.0.0.1:8080/mcp`. */
  url: string
  address: { host: string; port: number }
  /** Address of the admin port, if there is one. */
  adminAddress?: { host: string; port: number }
  /** The catalog served now; undefined before the first snapshot. */
  catalog(): Catalog | undefined
  metrics: RouterMetrics
  /** State of search by meaning. */
  search(): SearchStatus
  /** Stops accepting, lets calls in flight finish for up to `drainMs`, then closes connections and upstreams. Idempotent. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000
const LOOPBACK_HOST = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/
const OPEN_TO_ALL =
  'callers are anonymous: anyone who can reach this port from another machine can call every tool'

/** Resolves when the ports are open; the first catalog may come later. Throws a Fault `unavailable` if a port cannot be opened. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { log, clock = systemClock, connect, admin } = options
  const pool = createPool({ connect, clock })
  const metrics = createRouterMetrics(clock, () => pool.status(), admin?.missing)
  const served = createNewest<Catalog>()
  const { current } = served
  const recording = { replica: admin?.pod, stream: options.auditStream }
  const audit = createAudit({ current, metrics: metrics.access, clock, ...recording })
  const observer = observe(metrics, audit, options)
  const semantic: Semantic = createSemantic({
    dependencies: options.semantic,
    log,
    clock,
    onVectors: () => swaps.refresh(),
    onMissed: semanticMetrics(metrics.registry, () => semantic.status().pending).missed,
  })
  let told = LOOPBACK_HOST.test(options.host)
  const onSwapped = (catalog: Catalog) => {
    const { config } = catalog
    pool.update(config)
    if (!told && admitsAnyone(config)) log.warn({ host: options.host }, OPEN_TO_ALL)
    told = true
    states.adopt(catalog)
  }
  const swaps = createSwaps({ served, semantic, onSwapped, metrics, log })
  const credentials = options.credentials ?? { secret: () => undefined }
  const authentication = createAuthentication({ ...credentials, clock, log, metrics: metrics.access })
  const states = createAccessStates({ authentication, secret: credentials.secret, log })
  const parts = { pool, metrics, served, observer, semantic, authentication, states, audit }
  const stop = new AbortController()
  const ports = await openPorts({ ...parts, options, clock, closing: stop.signal })
  const watching = swaps.follow(options.source, stop.signal)
  const { address } = ports.agents
  let closing: Promise<unknown> | undefined
  return {
    url: `http://${hostOf(address.host)}:${address.port}/mcp`,
    address,
    adminAddress: ports.admin?.address,
    catalog: current,
    metrics,
    search: semantic.status,
    async close(drainMs = DRAIN_MS) {
      stop.abort()
      closing ??= Promise.all([ports.agents.close(drainMs), ports.admin?.close(drainMs)])
        .then(() =>
          Promise.all([
            pool.close(),
            authentication.close(),
            ports.results.close(),
            watching.then(semantic.close),
          ]),
        )
        .then(audit.close)
      await closing
    },
  }
}

function observe(
  metrics: RouterMetrics,
  audit: Audit,
  { log, onUnavailable, tracer }: RouterOptions,
): RouterObserver {
  const requests = createRequestLog(log)
  return {
    ...metrics,
    tracer,
    called(record) {
      metrics.called(record)
      requests.called(record)
      audit.called(record)
      if (record.outcome === 'unavailable' && record.server !== undefined) onUnavailable?.(record.server)
    },
    searched(durationMs, hits, by) {
      metrics.searched(durationMs, hits)
      requests.searched(durationMs, hits)
      audit.searched(durationMs, by)
    },
    missed: audit.missed,
  }
}

function admitsAnyone({ access: { auth } }: RouterConfig): boolean {
  return auth === undefined || auth.anonymous
}

/** An address that clients on this machine can connect to. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
