/** The admin port of a router in a cluster: health, metrics, status, and the catalog and server endpoints for sidecars. */
import type { JsonObject } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import { admitsAccount } from '../access/admits.ts'
import type { Refused } from '../access/bearer.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Newest } from '../source/newest.ts'
import { type AppOptions, createApp, type HttpServer, type OnRequest, respond } from './app.ts'
import { addCatalogPages } from './catalog-pages.ts'
import { addMcpRoute } from './mcp-route.ts'
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

export type AdminOptions = AppOptions & {
  host: string
  /** 0: any free port. */
  port: number
  ready: () => Readiness
  metrics: MetricsPage
  /** The status that the operator polls; never secrets. */
  status: () => JsonObject
  /** Content of /debug/status. Absent: the page is not served. */
  debugStatus?: () => JsonObject
  /** Absent: nothing is served to sidecars. */
  sidecars?: Sidecars
}

/** The handler serves single servers, whether or not the gateway exposes them to agents. */
type Sidecars = Omit<FrontOptions, 'log' | 'clock'> & {
  authenticate: Authenticator
  served: Newest<Catalog>
  /** The catalog as a pod's ServiceAccount sees it. */
  seenBy: (catalog: Catalog, identity: Identity) => Catalog
}

/** Listens at once. Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
export async function serveAdmin(options: AdminOptions): Promise<HttpServer> {
  const app = createApp(options)
  const { metrics, status, debugStatus, sidecars } = options
  addHealth(app, options.ready)
  app.fastify.get('/metrics', async (_request, reply) => sendMetrics(metrics, reply))
  app.fastify.get('/status', (_request, reply) => reply.send(status()))
  if (debugStatus) app.fastify.get('/debug/status', (_request, reply) => reply.send(debugStatus()))
  if (sidecars) {
    const { served, seenBy } = sidecars
    const authenticate = admittedBy(sidecars)
    const onRequest = guardedBy(authenticate)
    addCatalogPages(app, { served, onRequest, authenticate, seenBy, clock: options.clock })
    addMcpRoute(app, {
      url: '/servers/:server/mcp',
      onRequest,
      log: options.log,
      ...createFront(app, { ...options, ...sidecars }),
      config: () => served.current()?.config,
      configSeenBy: identity => seenBy(served.current() as Catalog, identity).config,
      // The guard let it in, and so it is known.
      identify: (_access, authorization) => authenticate(authorization),
      lookup: (config, { server }) => serverRoute({ ...config, exposeServers: true }, server ?? ''),
    })
  }
  return app.listen(options.host, options.port)
}

/** Whom the gateway's `auth` admits, too: a pod gets nothing by its router that it would not get by itself. */
function admittedBy({ authenticate, served }: Sidecars): Authenticator {
  return async authorization => {
    const found = await authenticate(authorization)
    const auth = served.current()?.config.access.auth
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

/** Lets authenticated callers continue and answers all others. */
function guardedBy(authenticate: Authenticator): OnRequest {
  return (request, reply, done) => {
    void authenticate(request.headers.authorization).then(found => {
      if ('id' in found) return done()
      if (found.status === 401) reply.header('www-authenticate', 'Bearer')
      respond(reply, found.status, TRANSPORT_ERROR, found.message)
    })
  }
}
