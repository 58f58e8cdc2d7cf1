/** The router's HTTP server for agents: MCP endpoints and health; without an admin port also metrics and status. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { FrontClients } from '../../core/mcp/server/clients.ts'
import { createEndpoint, type EndpointOptions } from '../../core/mcp/server/endpoint.ts'
import type { McpHandler } from '../../core/mcp/server/handler.ts'
import type { SignedSessions } from '../../core/mcp/server/session-ids.ts'
import { type App, type AppOptions, createApp, type HttpServer, type OnRequest, respond } from './app.ts'
import { challengeFor, resourceMetadata } from './challenge.ts'
import { createForwarder } from './forwarder.ts'
import { createGuard, type Guard } from './guard.ts'
import { addMcpRoute, type Identify, type Lookup, type McpRouteOptions } from './mcp-route.ts'
import { gatewayRoute, serverRoute } from './routes.ts'

export type Readiness = { ready: boolean; reason?: string }

/** The handler of a port, and the state of its clients. */
export type FrontOptions = Pick<AppOptions, 'log' | 'clock'> & {
  handler: McpHandler
  sessions: SignedSessions
  /** State kept for clients between their requests. */
  clients?: FrontClients
  /** This server's name for its replicas, made by `ownerAt`; requests that belong to them are forwarded. Absent: there are none. */
  owner?: string
}

export type ServeOptions = AppOptions &
  FrontOptions & {
    host: string
    /** 0: any free port. */
    port: number
    /** Names accepted in Host and Origin besides loopback names and `host`; `*` accepts any Host, and an Origin equal to it. */
    allowedHosts: readonly string[]
    /** Undefined while there is no catalog yet: MCP requests are then answered with 503. */
    config: () => RouterConfig | undefined
    configSeenBy?: McpRouteOptions['configSeenBy']
    identify?: Identify
    standing?: McpRouteOptions['standing']
    limits?: McpRouteOptions['limits']
    failedLogins?: McpRouteOptions['failedLogins']
    audit?: McpRouteOptions['audit']
    ready: () => Readiness
    /** Absent: metrics are served elsewhere. */
    metrics?: MetricsPage
    /** Content of /debug/status, for callers on this machine only. Absent: the page is not served. */
    debugStatus?: () => JsonObject
    /** Content of /debug/explain for a query; served if the status page is. */
    explain?: (query: string, limit: number, signal: AbortSignal) => Promise<JsonObject>
  }

export type MetricsPage = () => Promise<{ contentType: string; text: string }>

const EXPLAIN_TIMEOUT_MS = 10_000
const DEFAULT_EXPLAINED = 10
const MOST_EXPLAINED = 50
const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/

/** Listens at once. Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const app = createApp(options)
  const guard = createGuard(options.host, options.allowedHosts)
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (passes(guard, request, reply)) done()
  }
  const { config, configSeenBy, identify, standing, limits, failedLogins, audit, log } = options
  const means = { config, configSeenBy, identify, standing, limits, failedLogins, audit, log }
  const shared = { ...createFront(app, options), onRequest, ...means }
  const add = (url: string, lookup: Lookup) => addMcpRoute(app, { ...shared, url, lookup })
  add('/mcp', current => gatewayRoute(current, undefined))
  add('/mcp/:profile', (current, { profile }) => gatewayRoute(current, profile))
  add('/servers/:server/mcp', (current, { server }) => serverRoute(current, server ?? ''))
  addResourceMetadata(app, options, onRequest)
  addHealth(app, options.ready)
  addPages(app, options, onRequest)
  return app.listen(options.host, options.port)
}

/** Protected resource metadata, from which clients learn where to log in. A plain 404 where there is nowhere. */
function addResourceMetadata({ fastify }: App, { config }: ServeOptions, onRequest: OnRequest): void {
  const send = (path: string, reply: FastifyReply): FastifyReply => {
    const metadata = resourceMetadata(config()?.access, path)
    return metadata ? reply.send(metadata) : reply.code(404).send()
  }
  const url = '/.well-known/oauth-protected-resource'
  fastify.get(url, { onRequest }, (_request, reply) => send('', reply))
  fastify.get<{ Params: { '*': string } }>(`${url}/*`, { onRequest }, ({ params }, reply) =>
    send(`/${params['*']}`, reply),
  )
}

/** Creates an MCP endpoint and the forwarder to its replicas. Both close with the server; open streams do not delay that. */
export function createFront(
  { fastify, inFlight, draining }: App,
  options: FrontOptions & Partial<Pick<ServeOptions, 'config'>>,
): Pick<McpRouteOptions, 'endpoint' | 'forwarder'> {
  const { owner } = options
  const forwarder =
    owner === undefined ? undefined : createForwarder({ ...options, owner, inFlight, draining })
  const { config } = options
  const challenge: EndpointOptions['challenge'] = (raw, identity, scopes) =>
    challengeFor(config?.()?.access ?? OPEN_ACCESS, raw.req.url ?? '', identity, scopes)
  const endpoint = createEndpoint({ ...options, inFlight, challenge, onStrayCancel: forwarder?.notifyAll })
  draining.addEventListener('abort', endpoint.end)
  if (forwarder) fastify.addHook('onClose', () => forwarder.close())
  return { endpoint, forwarder }
}

/** Answers refused requests, and sets CORS headers on allowed ones. */
function passes(guard: Guard, { raw: { url = '' }, headers }: FastifyRequest, reply: FastifyReply): boolean {
  // For a request target in absolute form its host counts, not the Host header (RFC 9112, section 3.2.2).
  const asked = url.startsWith('/') ? headers : { ...headers, host: URL.parse(url)?.host }
  const problem = guard.refusal(asked)
  if (problem !== undefined) {
    respond(reply, 403, TRANSPORT_ERROR, problem)
    return false
  }
  if (headers.origin !== undefined) {
    for (const [name, value] of Object.entries(guard.corsHeaders(asked))) reply.raw.setHeader(name, value)
  }
  return true
}

export function addHealth({ fastify, draining }: App, ready: () => Readiness): void {
  const options = { exposeHeadRoute: true }
  fastify.get('/healthz', options, (_request, reply) => reply.send({ status: 'ok' }))
  fastify.get('/readyz', options, (_request, reply) => {
    const readiness = draining.aborted ? { ready: false, reason: 'draining' } : ready()
    reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
}

function addPages(
  { fastify }: App,
  { config, metrics, debugStatus, explain }: ServeOptions,
  onRequest: OnRequest,
): void {
  const here = (request: FastifyRequest, reply: FastifyReply, done: () => void) =>
    onRequest(request, reply, () => {
      if (LOOPBACK_ADDRESS.test(request.raw.socket.remoteAddress ?? '')) done()
      else respond(reply, 403, TRANSPORT_ERROR, 'This page is served to callers on this machine only.')
    })
  // They name servers and tools, which not every caller may see where callers are told apart.
  const admitted: OnRequest = (request, reply, done) =>
    (config()?.access.auth ? here : onRequest)(request, reply, done)
  if (metrics)
    fastify.get('/metrics', { onRequest: admitted }, async (_request, reply) => sendMetrics(metrics, reply))
  if (!debugStatus) return
  fastify.get('/debug/status', { onRequest: here }, (_request, reply) => reply.send(debugStatus()))
  if (!explain) return
  fastify.get<{ Querystring: { query?: string; limit?: string } }>(
    '/debug/explain',
    { onRequest: here },
    ({ query: { query = '', limit } }) =>
      explain(String(query), readLimit(limit), AbortSignal.timeout(EXPLAIN_TIMEOUT_MS)),
  )
}

function readLimit(limit: string | undefined): number {
  const asked = Number(limit ?? DEFAULT_EXPLAINED)
  return Number.isInteger(asked) ? Math.min(MOST_EXPLAINED, Math.max(1, asked)) : DEFAULT_EXPLAINED
}

export async function sendMetrics(metrics: MetricsPage, reply: FastifyReply): Promise<FastifyReply> {
  const { contentType, text } = await metrics()
  return reply.type(contentType).send(text)
}
