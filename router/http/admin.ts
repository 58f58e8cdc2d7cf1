/** The admin port of a router in a cluster: health, metrics, status, and the catalog and server endpoints for sidecars. */
import { peerAddress } from '../../core/addresses.ts'
import { foreignPage, isLoopbackName, isOnThisMachine } from '../../core/console/guarded.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { admitsAccount } from '../access/admits.ts'
import type { Refused } from '../access/bearer.ts'
import { loginRefused } from '../audit/of-http.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { addOperatorConsole, type OperatorConsole } from '../console/for-operator.ts'
import type { ClusterLogins } from '../logins/cluster-logins.ts'
import type { CallsForSidecars } from '../source/catalog-index.ts'
import type { Newest } from '../source/newest.ts'
import type { WakeRequests } from '../waking/wake-requests.ts'
import { type AppOptions, createApp, type HttpServer, type OnRequest, respond } from './app.ts'
import { addCatalogPages } from './catalog-pages.ts'
import { addEvents } from './events.ts'
import { addLoginsPage } from './logins-page.ts'
import { addMcpRoute, type Identify, type McpRouteOptions } from './mcp-route.ts'
import { reviewOpenRequests } from './open-request-reviews.ts'
import { createOpenRequests } from './open-requests.ts'
import { addQuotaPage, type QuotaPageOptions } from './quota-exchange.ts'
import { serverRoute } from './routes.ts'
import {
  addHealth,
  createFront,
  type FrontOptions,
  type MetricsPage,
  type Readiness,
  sendMetrics,
} from './serve.ts'
import type { Authenticator } from './service-account.ts'
import { addUsersPage, type UsersPage } from './users-page.ts'

export type AdminOptions = AppOptions & {
  host: string
  /** 0: any free port. */
  port: number
  ready: () => Readiness
  metrics: MetricsPage
  /** The status that the operator polls; never secrets. */
  status: () => JsonObject
  /** What `/events` reports to the operator. */
  wakes: WakeRequests
  /** Logins of users. `/events` reports them too; other routers and `portolan logins` read them. */
  logins?: ClusterLogins
  /** Content of /debug/status. Absent: the page is not served. */
  debugStatus?: () => JsonObject
  /** Content of /debug/users, for callers in this pod only. */
  users?: UsersPage
  /** For the exchange of quotas with the other routers of the gateway. */
  exchanging: QuotaPageOptions
  /** What the operator's console asks for. Absent: it is not served. */
  console?: OperatorConsole
  /** Absent: nothing is served to sidecars. */
  sidecars?: Sidecars
}

/** The handler serves single servers, whether or not the gateway exposes them to agents. */
type Sidecars = Omit<FrontOptions, 'log' | 'clock'> & {
  authenticate: Authenticator
  served: Newest<Catalog>
  audit: NonNullable<McpRouteOptions['audit']>
  /** The catalog as a pod's ServiceAccount sees it. */
  seenBy: (catalog: Catalog, identity: Identity) => Catalog
  callsForSidecars?: CallsForSidecars
}

/** Listens at once. Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
export async function serveAdmin(options: AdminOptions): Promise<HttpServer> {
  const app = createApp(options)
  const { metrics, status, debugStatus, sidecars } = options
  addHealth(app, options.ready)
  app.fastify.get('/metrics', async (_request, reply) => sendMetrics(metrics, reply))
  app.fastify.get('/status', (_request, reply) => reply.send(status()))
  const { wakes, logins } = options
  addEvents(app, wakes, logins ? [wakes, logins.store] : [wakes], options.clock)
  // Only for callers in this pod, such as a port-forward: other pods may reach this port too.
  if (options.users) addUsersPage(app, options.users, onlyHere)
  if (logins) {
    logins.renewals.addPage(app, logins.logins, name => logins.host.serverOf(name))
    addLoginsPage(app, logins, onlyHere)
  }
  if (debugStatus) app.fastify.get('/debug/status', (_request, reply) => reply.send(debugStatus()))
  addQuotaPage(app, options.exchanging)
  if (options.console) addOperatorConsole(app, options.console)
  if (sidecars) {
    const { served, seenBy, audit, callsForSidecars } = sidecars
    const authenticate = admittedBy(sidecars)
    const onRequest = guardedBy(authenticate, sidecars)
    // The guard has just authenticated the same credential, so this is a cached result.
    const identify: Identify = (_access, authorization) => authenticate(authorization)
    const openRequests = createOpenRequests(identify)
    void reviewOpenRequests(openRequests, { served, clock: options.clock, log: options.log }, app.draining)
    const pages = { served, onRequest, authenticate, seenBy, clock: options.clock, callsForSidecars }
    addCatalogPages(app, pages)
    addMcpRoute(app, {
      url: '/servers/:server/mcp',
      onRequest,
      log: options.log,
      ...createFront(app, { ...options, ...sidecars }),
      config: () => served.current()?.config,
      configSeenBy: identity => seenBy(served.current() as Catalog, identity).config,
      identify,
      openRequests,
      audit,
      lookup: (config, { server }) => serverRoute({ ...config, exposeServers: true }, server ?? ''),
    })
  }
  return app.listen(options.host, options.port)
}

const onlyHere: OnRequest = ({ raw }, reply, done) => {
  // A page whose host name was made to resolve to a forwarded port (DNS rebinding) is on this machine, but has another host name.
  const isHere = isOnThisMachine(raw) && isLoopbackName(raw.headers.host)
  const problem = isHere ? foreignPage(raw) : 'This page is served to callers on this machine only.'
  if (problem === undefined) done()
  else respond(reply, 403, TRANSPORT_ERROR, problem)
}

/** Admits only ServiceAccounts that the gateway's `auth` admits too: a pod gets nothing through its router that it would not get directly. */
function admittedBy({ authenticate, served }: Sidecars): Authenticator {
  return async authorization => {
    const auth = served.current()?.config.access.auth
    const found = await authenticate(authorization, auth?.serviceAccounts?.reviewMs)
    const isAdmitted = 'status' in found || !auth || auth.anonymous || admitsAccount(auth, found.subject)
    return isAdmitted ? found : NOT_ADMITTED
  }
}

const NOT_ADMITTED: Refused = {
  status: 403,
  reason: 'OtherNamespace',
  message:
    'This gateway does not admit the ServiceAccounts of this namespace: see its spec.auth.serviceAccounts.',
}

/** Lets authenticated callers continue; records and answers all others. */
function guardedBy(authenticate: Authenticator, { audit, served }: Sidecars): OnRequest {
  return (request, reply, done) => {
    void authenticate(request.headers.authorization).then(found => {
      if ('id' in found) return done()
      const config = served.current()?.config
      if (config) audit.decided(config, loginRefused(found, peerAddress(request.raw.socket)))
      if (found.status === 401) reply.header('www-authenticate', 'Bearer')
      respond(reply, found.status, TRANSPORT_ERROR, found.message)
    })
  }
}
