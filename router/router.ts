/** A router: watches a source, keeps the newest catalog and serves it over HTTP until it is closed. */
import { ANY_ADDRESS } from '../core/addresses.ts'
import { type Clock, systemClock } from '../core/async.ts'
import type { RouterConfig, SearchConfig } from '../core/catalog/router-config.ts'
import type { ConsolePage } from '../core/console/page.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Identity } from '../core/mcp/identity.ts'
import type { Tracer } from '../core/trace.ts'
import { createAccessStates } from './access/access-state.ts'
import { type AuthenticationOptions, createAuthentication } from './access/authentication.ts'
import { type Audit, type AuditOptions, createAudit } from './audit/audit.ts'
import type { Catalog } from './catalog/catalog.ts'
import { type ConsoleFeed, createConsoleFeed } from './console/feed.ts'
import type { ConsoleHost } from './console/host.ts'
import type { HttpServer } from './http/app.ts'
import type { Readiness } from './http/serve.ts'
import type { Authenticator } from './http/service-account.ts'
import type { ClusterLogins } from './logins/cluster-logins.ts'
import type { LoginPages } from './logins/router-logins.ts'
import { createRouterMetrics, type RouterMetrics } from './metrics.ts'
import type { RouterObserver } from './observer.ts'
import { OwnCatalogs } from './own-catalogs.ts'
import { openPorts, type Ports } from './ports.ts'
import { createRequestLog } from './request-log.ts'
import { createSemantic, type SearchStatus, type SemanticDependencies } from './semantic/semantic.ts'
import type { CallsForSidecars } from './source/catalog-index.ts'
import { createNewest } from './source/newest.ts'
import type { Source } from './source/source.ts'
import { createSwaps } from './swaps.ts'
import { createPool, type Pool, type PoolOptions } from './upstream/pool.ts'
import { listsOfUsers } from './user-lists-log.ts'
import { WakeRequests } from './waking/wake-requests.ts'

export type RouterOptions = {
  source: Source
  /** As in PoolOptions. The router closes the upstreams that it was given. */
  connect: PoolOptions['connect']
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
  /** Serves the console at /, to callers on this machine only. */
  console?: { page: ConsolePage; host: ConsoleHost }
  /** Who logs in at which server. Absent: there are no pages for logins. */
  logins?: LoginPages
  /** A second port for the cluster, which then serves metrics and status. */
  admin?: AdminPort
  /** What search by meaning needs. Absent: search uses words alone. */
  semantic?: SemanticDependencies
  /** The search settings of the first snapshot, if they are known before it: the encoder opens meanwhile. */
  search?: SearchConfig
  /** Where the credentials of callers are looked up. Absent: no named tokens and no ServiceAccounts are known. */
  credentials?: Pick<AuthenticationOptions, 'secret' | 'accounts' | 'remotes'>
  /** The identity of callers without a credential, whatever `auth` says. For ports that nobody else can reach. */
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
  /** Why the router's configuration is out of date, if it is. Absent: that is not known. */
  stale?: () => string | undefined
  /** Lets sidecars read the catalog and call servers. Absent: nothing is served to them. */
  authenticate?: Authenticator
  /** Default: sidecars call every server themselves that they can. */
  callsForSidecars?: CallsForSidecars
  /** Whether a token is the operator's, which asks for the console's data. Absent: nothing is kept for a console. */
  console?: Authenticator
  /** Origins of the admin ports of this gateway's routers, with or without this one. Absent: there are no others. */
  peers?: () => Promise<readonly string[]>
  /** The origin under which the gateway's other routers reach this admin port. */
  own?: string
  /** The logins of users, which the operator stores and which are sent to the other routers. Absent: nobody logs in. */
  logins?: ClusterLogins
}

export type Router = {
  /** URL of the default profile's endpoint: `http://127.0.0.1:8080/mcp`. */
  url: string
  address: { host: string; port: number }
  /** Address of the admin port, if there is one. */
  adminAddress?: { host: string; port: number }
  /** The catalog served now; undefined before the first snapshot. */
  catalog(): Catalog | undefined
  /** Resolves once the first catalog is served or could not be built. */
  firstCatalog: Promise<void>
  metrics: RouterMetrics
  /** State of search by meaning. */
  search(): SearchStatus
  /** The users who have a session, process or pod at servers with `sessions: perUser`. */
  users: Pool['users']
  /** As Pool.endUser. */
  endUser: Pool['endUser']
  /** Stops accepting, lets calls in flight finish for up to `drainMs`, then closes connections and upstreams. Idempotent. */
  close(drainMs?: number): Promise<void>
}

const DRAIN_MS = 10_000
const NO_CREDENTIALS = { secret: () => undefined }
const LOOPBACK_HOST = /^(?:localhost|::1|127\.\d+\.\d+\.\d+)$/
const OPEN_TO_ALL =
  'callers are anonymous: anyone who can reach this port from another machine can call every tool'

/** Resolves when the ports are open; the first catalog may come later. Throws a Fault `unavailable` if a port cannot be opened. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const { log, clock = systemClock, connect, admin, credentials = NO_CREDENTIALS } = options
  const served = createNewest<Catalog>()
  const { current } = served
  const metrics = createRouterMetrics(clock, () => pool.status(), admin?.missing)
  const wakes = new WakeRequests({ clock, onWaiting: metrics.waiting, onWaited: metrics.waited })
  const lists = listsOfUsers({ log, clock, served }, () => own.changed())
  const pool = createPool({ connect, clock, wakes, lists })
  const audit = createAudit({ ...auditing(options), metrics: metrics.access, clock })
  const hasConsole = options.console !== undefined || admin?.console !== undefined
  const feed = hasConsole ? createConsoleFeed(clock, () => pool.status()) : undefined
  const observer = observe(metrics, audit, options, feed)
  const semantic = createSemantic({
    dependencies: options.semantic,
    log,
    clock,
    onVectors: () => swaps.refresh(),
    onOwnVectors: () => own.renew(),
    metrics: metrics.semantic,
  })
  if (options.search) semantic.adopt(options.search)
  const own = new OwnCatalogs({ served, pool, semantic, clock, log })
  let hasWarned = LOOPBACK_HOST.test(options.host)
  const onSwapped = (catalog: Catalog) => {
    const { config } = catalog
    pool.update(config)
    if (!hasWarned && admitsAnyone(config)) log.warn({ host: options.host }, OPEN_TO_ALL)
    hasWarned = true
    states.adopt(catalog)
    feed?.swapped(catalog)
  }
  const swaps = createSwaps({ served, semantic, onSwapped, metrics, log })
  const authentication = createAuthentication({ ...credentials, clock, log, metrics: metrics.access })
  const states = createAccessStates({ authentication, secret: credentials.secret, log })
  const parts = { pool, wakes, metrics, served, observer, semantic, authentication, states, audit, feed }
  const stop = new AbortController()
  const ports = await openPorts({ ...parts, own, options, clock, closing: stop.signal })
  const watching = Promise.all([swaps.follow(options.source, stop.signal), own.follow(stop.signal)])
  let closing: Promise<unknown> | undefined
  return {
    ...placeOf(ports.agents),
    adminAddress: ports.admin?.address,
    catalog: current,
    firstCatalog: swaps.first,
    metrics,
    search: semantic.status,
    users: pool.users,
    endUser: pool.endUser,
    async close(drainMs = DRAIN_MS) {
      stop.abort()
      feed?.close()
      closing ??= closePorts(ports, drainMs, admin?.logins)
        .then(() => Promise.all([pool.close(), authentication.close(), watching.then(semantic.close)]))
        .then(() => Promise.all([ports.results.close(), ports.scripts.close(), ports.exchange?.close()]))
        .then(() => admin?.logins?.renewals.close())
        .then(audit.close)
      await closing
    },
  }
}

/** Closes both ports. Before the admin port closes, the operator reads the logins there, once no call is in flight that could renew them. */
function closePorts(
  { agents, admin }: Pick<Ports, 'agents' | 'admin'>,
  drainMs: number,
  logins: ClusterLogins | undefined,
): Promise<unknown> {
  const closed = agents.close(drainMs)
  const handOver = logins && (() => closed.then(() => logins.handOver()))
  return Promise.all([closed, admin?.close(drainMs, handOver)])
}

function auditing({ admin, auditStream: stream }: RouterOptions) {
  return { replica: admin?.pod, stream }
}

/** Passes each event on to the metrics, the request log, the audit and the console. */
function observe(
  metrics: RouterMetrics,
  audit: Audit,
  { log, onUnavailable, tracer }: RouterOptions,
  feed: ConsoleFeed | undefined,
): RouterObserver {
  const requests = createRequestLog(log)
  return {
    ...metrics,
    tracer,
    called(record) {
      metrics.called(record)
      requests.called(record)
      audit.called(record)
      feed?.called(record)
      if (record.outcome === 'unavailable' && record.server !== undefined) onUnavailable?.(record.server)
    },
    searched(durationMs, hits, by) {
      metrics.searched(durationMs, hits)
      requests.searched(durationMs, hits, by.request.caller.label)
      audit.searched(durationMs, by)
      feed?.searched(durationMs, hits, by)
    },
    tokensDirect(route, tokens) {
      metrics.tokensDirect(route, tokens)
      feed?.tokensDirect(route, tokens)
    },
    tokensServed(route, kind, tokens) {
      metrics.tokensServed(route, kind, tokens)
      feed?.tokensServed(route, kind, tokens)
    },
    scriptRan(record) {
      metrics.scriptRan(record)
      requests.scriptRan(record)
      audit.scriptRan(record)
      feed?.scriptRan(record)
    },
    missed: audit.missed,
  }
}

function placeOf({ address }: HttpServer): Pick<Router, 'url' | 'address'> {
  return { url: `http://${hostOf(address.host)}:${address.port}/mcp`, address }
}

function admitsAnyone({ access: { auth } }: RouterConfig): boolean {
  return auth === undefined || auth.anonymous
}

/** An address that clients on this machine can connect to. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === ANY_ADDRESS) return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
