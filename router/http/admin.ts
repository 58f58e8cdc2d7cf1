/** The admin port of a router in a cluster: health, metrics, status, and the catalog and server endpoints for sidecars. */
import type { JsonObject } from '../../core/json.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
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
type Sidecars = Omit<FrontOptions, 'log' | 'clock'> & { authenticate: Authenticator; served: Newest<Catalog> }

/** Listens at once. Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
export async function serveAdmin(options: AdminOptions): Promise<HttpServer> {
  const app = createApp(options)
  const { metrics, status, debugStatus, sidecars } = options
  addHealth(app, options.ready)
  app.fastify.get('/metrics', async (_request, reply) => sendMetrics(metrics, reply))
  app.fastify.get('/status', (_request, reply) => reply.send(status()))
  if (debugStatus) app.fastify.get('/debug/status', (_request, reply) => reply.send(debugStatus()))
  if (sidecars) {
    const { served, authenticate } = sidecars
    const onRequest = guardedBy(authenticate)
    addCatalogPages(app, { served, onRequest, clock: options.clock })
    addMcpRoute(app, {
      url: '/servers/:server/mcp',
      onRequest,
      log: options.log,
      ...createFront(app, { ...options, ...sidecars }),
      config: () => served.current()?.config,
      lookup: (config, { server }) => serverRoute({ ...config, exposeServers: true }, server ?? ''),
    })
  }
  return app.listen(options.host, options.port)
}

/** Lets authenticated callers continue and answers all others. */
function guardedBy(authenticate: Authenticator): OnRequest {
  return (request, reply, done) => {
    void authenticate(request.headers.authorization).then(refusal => {
      if (!refusal) return done()
      if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
      respond(reply, refusal.status, TRANSPORT_ERROR, refusal.message)
    })
  }
}
