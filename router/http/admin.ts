/** The router's second port, for the cluster and not for agents: health, metrics, status, and what sidecars need of a gateway. */
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
  /** 0 for any that is free. */
  port: number
  ready: () => Readiness
  metrics: MetricsPage
  /** What the operator asks for; never secrets. */
  status: () => JsonObject
  /** What /debug/status shows; absent: no such page. */
  debugStatus?: () => JsonObject
  /** Absent: nothing is served to sidecars. */
  sidecars?: Sidecars
}

/** The handler answers for single servers, whether or not the gateway exposes them to agents. */
type Sidecars = Omit<FrontOptions, 'log' | 'clock'> & { authenticate: Authenticator; served: Newest<Catalog> }

/** Listens at once. Throws a Fault `unavailable` where the port is taken or the address is not ours. */
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

/** Goes on where the caller is let in; else answers it. */
function guardedBy(authenticate: Authenticator): OnRequest {
  return (request, reply, done) => {
    void authenticate(request.headers.authorization).then(refusal => {
      if (!refusal) return done()
      if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
      respond(reply, refusal.status, TRANSPORT_ERROR, refusal.message)
    })
  }
}
