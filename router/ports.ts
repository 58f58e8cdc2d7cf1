/** Opens the router's ports: one for agents and, in a cluster, an admin port for the operator, metrics and sidecars. */
import { randomBytes, randomUUID } from 'node:crypto'
import { peerAddress } from '../core/addresses.ts'
import { type Clock, delay } from '../core/async.ts'
import type { JsonObject } from '../core/json.ts'
import type { Identity } from '../core/mcp/identity.ts'
import { createClients, type FrontClients } from '../core/mcp/server/clients.ts'
import type { McpHandler } from '../core/mcp/server/handler.ts'
import { createSessions, type SignedSessions } from '../core/mcp/server/session-ids.ts'
import { type Access, createAccess } from './access/access.ts'
import type { AccessStates } from './access/access-state.ts'
import type { Authentication } from './access/authentication.ts'
import { exposing } from './access/exposing.ts'
import { createFailedLogins } from './access/failed-logins.ts'
import {
  createInternalCredentials,
  type InternalCredentials,
  NOT_OF_A_REPLICA,
} from './access/internal-credential.ts'
import { createLimits, type Limits } from './access/limits.ts'
import { createQuotas, type Quotas } from './access/quotas.ts'
import type { Audit } from './audit/audit.ts'
import { loginRefused } from './audit/of-http.ts'
import type { Catalog } from './catalog/catalog.ts'
import { createSandboxThreads } from './code/sandbox-threads.ts'
import { createScripts, type Scripts } from './code/scripts.ts'
import type { ConsoleFeed } from './console/feed.ts'
import { createClusterHost } from './console/for-operator.ts'
import { consoleRoutes, type RoutesFor } from './console/routes-for.ts'
import { type AdminOptions, serveAdmin } from './http/admin.ts'
import type { HttpServer } from './http/app.ts'
import type { Identify } from './http/mcp-route.ts'
import { reviewOpenRequests } from './http/open-request-reviews.ts'
import { createOpenRequests } from './http/open-requests.ts'
import { ownerAt } from './http/owner.ts'
import { exchangeQuotas, type QuotaExchange, type QuotaPageOptions } from './http/quota-exchange.ts'
import { type ServeOptions, serve } from './http/serve.ts'
import { explainSearch } from './meta/finding/search-catalog.ts'
import { createHandler, type HandlerOptions } from './meta/handler.ts'
import { createKeptResults, type KeptResults } from './meta/results/kept-results.ts'
import type { RouterMetrics } from './metrics.ts'
import type { OwnCatalogs } from './own-catalogs.ts'
import type { AdminPort, RouterOptions } from './router.ts'
import type { Semantic } from './semantic/semantic.ts'
import type { Newest } from './source/newest.ts'
import { debugStatus, routerStatus } from './status.ts'
import type { WakeRequests } from './waking/wake-requests.ts'

export type PortsOptions = Pick<HandlerOptions, 'pool' | 'observer'> & {
  options: RouterOptions
  clock: Clock
  metrics: RouterMetrics
  served: Newest<Catalog>
  semantic: Pick<Semantic, 'encodeQuery' | 'status'>
  authentication: Authentication
  states: AccessStates
  audit: Audit
  /** Present if the console is served. */
  feed?: ConsoleFeed
  wakes: WakeRequests
  /** The catalogs of users who have lists of their own. */
  own: OwnCatalogs
  /** Aborts when the router closes. */
  closing: AbortSignal
}

export type Ports = {
  agents: HttpServer
  admin?: HttpServer
  results: KeptResults
  scripts: Scripts
  exchange?: QuotaExchange
}

/** Time after a change of the feed until all routers of the gateway are expected to have it: most need some 50 ms (p95; docs/bench.md). */
const SETTLED_MS = 500
/** Owner name used when there are no replicas. */
const SOLE_OWNER = 'local'

/** Opens the ports. Throws a Fault `unavailable` if a port cannot be opened. */
export async function openPorts(given: PortsOptions): Promise<Ports> {
  const { options, served, authentication, own } = given
  const { host, port, allowedHosts = [], admin, sessionKey: key = randomBytes(32) } = options
  const bound = boundTo(given, key, port)
  const credentials = createInternalCredentials(key, given.clock)
  const results = keptResults(given, key, credentials, bound.owner)
  const current = () => served.current() as Catalog
  const sharedAccess = createAccess()
  const access: Access = (catalog, identity) => sharedAccess(own.now(catalog, identity), identity)
  const quotas = createQuotas(randomUUID(), given.clock)
  const limits = createLimits(given.clock, quotas)
  const scripts = createScripts(createSandboxThreads(given.clock), { clock: given.clock, log: options.log })
  const handler = agentsHandler(given, { access, limits, results, scripts, clients: bound.clients })
  const config = () => served.current()?.config
  const configSeenBy = (identity: Identity) => access(current(), identity).config
  const identifyClient: Identify = (config, authorization) =>
    (authorization === undefined && options.assumed) || authentication.identify(config, authorization)
  const identify: Identify = (config, authorization) =>
    credentials.read('caller', authorization) ?? identifyClient(config, authorization)
  options.logins?.attach({ config, identify: authentication.identify, seenBy: configSeenBy })
  const openRequests = createOpenRequests(identify)
  void reviewOpenRequests(openRequests, { served, clock: given.clock, log: options.log }, given.closing)
  const agents: ServeOptions = {
    ...sharedOptions(given),
    ...bound,
    host,
    port,
    allowedHosts,
    handler,
    config,
    configSeenBy,
    identify,
    credentials,
    openRequests,
    limits,
    failedLogins: createFailedLogins(given.clock),
    audit: given.audit,
  }
  const routesFor = consoleRoutes(given, { ...agents, access, identify: identifyClient, openRequests })
  agents.laptopConsole = laptopConsole(options, routesFor)
  if (!admin) return { agents: await serve(agents), results, scripts }
  const opened = await serve({ ...agents, metrics: undefined, debugStatus: undefined })
  try {
    const means = { access: sharedAccess, limits, quotas, credentials, routesFor }
    const more = await openAdmin(given, admin, key, means)
    return { agents: opened, results, scripts, ...more }
  } catch (error) {
    await opened.close(0)
    throw error
  }
}

function agentsHandler(
  { options, clock, served, pool, observer, semantic, own }: PortsOptions,
  means: Pick<HandlerOptions, 'access' | 'limits' | 'results' | 'scripts' | 'clients'>,
): McpHandler {
  return createHandler({
    ...means,
    current: () => served.current() as Catalog,
    watch: signal => own.watch(signal),
    settled: options.admin?.peers && (signal => delay(clock, SETTLED_MS, signal)),
    own,
    pool,
    observer,
    encodeQuery: semantic.encodeQuery,
  })
}

function laptopConsole(
  { console: laptop }: RouterOptions,
  routesFor: RoutesFor,
): ServeOptions['laptopConsole'] {
  return laptop && { ...routesFor(laptop.host), page: laptop.page }
}

/** Opens the admin port, and begins to exchange quotas with the other routers. */
async function openAdmin(
  given: PortsOptions,
  admin: AdminPort,
  key: string | Uint8Array,
  means: {
    access: Access
    limits: Limits
    quotas: Quotas
    credentials: InternalCredentials
    routesFor: RoutesFor
  },
): Promise<Pick<Ports, 'admin' | 'exchange'>> {
  const { limits, quotas, credentials, routesFor } = means
  const adopt = () => {
    const config = given.served.current()?.config
    if (config) limits.adopt(config)
  }
  const exchanging = { quotas, credentials, adopt }
  const onRefused: QuotaPageOptions['onRefused'] = ({ raw }) => {
    const config = given.served.current()?.config
    if (config) given.audit.decided(config, loginRefused(NOT_OF_A_REPLICA, peerAddress(raw.socket)))
  }
  const { logins } = admin
  if (logins && admin.peers && admin.own !== undefined)
    logins.renewals.attach({ peers: admin.peers, own: admin.own, credentials })
  const opened = await serveAdmin({
    ...sharedOptions(given),
    ...adminOptions(given, admin, key, means),
    exchanging: { ...exchanging, onRefused },
    console: admin.console && {
      routes: routesFor(createClusterHost(sharedOptions(given).ready)),
      authenticate: admin.console,
    },
  })
  const { peers } = admin
  const { clock } = given
  const { log } = given.options
  return { admin: opened, exchange: peers && exchangeQuotas({ ...exchanging, peers, clock, log }) }
}

/** The options of both ports. */
function sharedOptions({ options, clock, metrics, served, pool, semantic }: PortsOptions) {
  const { ready, debugStatus: more, log, lingerMs, logins } = options
  return {
    ready: () =>
      served.current() ? (ready?.() ?? { ready: true }) : { ready: false, reason: 'no catalog yet' },
    debugStatus:
      more &&
      ((): JsonObject => ({
        ...debugStatus(served.current(), pool.status(), semantic.status()),
        ...more(),
      })),
    explain: async (query: string, limit: number, signal: AbortSignal) => {
      const catalog = served.current()
      const why =
        catalog && (await explainSearch({ catalog, encodeQuery: semantic.encodeQuery }, query, limit, signal))
      return { ...why }
    },
    metrics: async () => ({
      contentType: metrics.registry.contentType,
      text: await metrics.registry.metrics(),
    }),
    users: pool,
    connectHost: logins && (() => logins.host()),
    log,
    clock,
    lingerMs,
  }
}

/** Creates a port's sessions, whose ids name this replica if others can reach it, and the state kept for its clients. */
function boundTo(
  { options: { address }, clock, served }: PortsOptions,
  key: string | Uint8Array,
  port: number,
): { sessions: SignedSessions; clients: FrontClients; owner?: string } {
  const owner = address === undefined ? undefined : ownerAt(address, port)
  const sessions = createSessions({ key, owner: owner ?? SOLE_OWNER, clock })
  const distinguishesCallers = () => served.current()?.config.access.auth !== undefined
  return { sessions, clients: createClients({ clock, signer: sessions.signer, distinguishesCallers }), owner }
}

/** Creates the store of texts that were cut out of results; every replica can read them by their handles. */
function keptResults(
  { options: { log }, clock }: PortsOptions,
  key: string | Uint8Array,
  credentials: InternalCredentials,
  owner = SOLE_OWNER,
) {
  return createKeptResults({ key, owner, clock, log, credentials })
}

/** The options of the admin port only. */
function adminOptions(
  given: PortsOptions,
  { host, port, pod, gateway, missing, stale, authenticate, callsForSidecars, logins }: AdminPort,
  key: string | Uint8Array,
  { access, limits, credentials }: { access: Access; limits: Limits; credentials: InternalCredentials },
): Pick<AdminOptions, 'host' | 'port' | 'status' | 'sidecars' | 'wakes' | 'logins'> {
  const { served, pool, observer, semantic, metrics, states, wakes } = given
  const current = () => served.current() as Catalog
  const bound = boundTo(given, key, port)
  const { clients } = bound
  return {
    host,
    port,
    wakes,
    logins,
    status: () =>
      routerStatus(
        {
          pod,
          gateway,
          missing: missing(),
          stale: stale?.(),
          search: semantic.status(),
          tokens: metrics.tokens(),
          waiting: given.wakes.list(),
          logins: logins?.store.waiting(name => logins.host.serverOf(name) !== undefined),
        },
        served.current(),
        pool.status(),
        states,
      ),
    sidecars: authenticate && {
      authenticate,
      callsForSidecars,
      served,
      seenBy: access,
      audit: given.audit,
      credentials,
      handler: createHandler({
        current,
        access: exposing(access),
        limits,
        pool,
        observer,
        clients,
      }),
      ...bound,
    },
  }
}
