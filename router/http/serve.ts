/** The router's HTTP server for agents: MCP endpoints and health; on a laptop its metrics and status too. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { createEndpoint, type Endpoint } from '../../core/mcp/front/endpoint.ts'
import { writeText } from '../../core/mcp/front/exchange.ts'
import type { McpHandler, McpRoute } from '../../core/mcp/front/handler.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/front/rejection.ts'
import { errorText } from '../../core/mcp/front/reply.ts'
import type { SignedSessions } from '../../core/mcp/front/session.ts'
import { type App, type AppOptions, createApp, type HttpServer, respond } from './app.ts'
import { createGuard, type Guard } from './guard.ts'
import { createForwarder, type Forwarder } from './owner.ts'
import { gatewayRoute, type RouteLookup, serverRoute } from './routes.ts'

export type Readiness = { ready: boolean; reason?: string }

export type ServeOptions = AppOptions & {
  host: string
  /** 0 for any that is free. */
  port: number
  /** Names accepted in Host and Origin besides loopback and `host`; `*` for any Host, and the Origin that is its own. */
  allowedHosts: readonly string[]
  handler: McpHandler
  sessions: SignedSessions
  /** How replicas reach this server, by `ownerAt`: sessions of others are handed over to them. Absent: there are no others. */
  owner?: string
  /** Undefined while there is no catalog yet: MCP is then answered 503. */
  config: () => RouterConfig | undefined
  ready: () => Readiness
  /** Absent: they are served elsewhere. */
  metrics?: MetricsPage
  /** What /debug/status shows to callers on this machine; absent: no such page. */
  debugStatus?: () => JsonObject
  /** What /debug/explain shows of a query, where there is a status page. */
  explain?: (query: string, limit: number, signal: AbortSignal) => Promise<JsonObject>
}

export type MetricsPage = () => Promise<{ contentType: string; text: string }>

const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']
const ALLOWED_METHODS = 'POST, DELETE, OPTIONS'
const EXPLAIN_TIMEOUT_MS = 10_000
const DEFAULT_EXPLAINED = 10
const MOST_EXPLAINED = 50
const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/

/** Listens at once. Throws a Fault `io` where the port is taken or the address is not ours. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const app = createApp(options)
  const guard = createGuard(options.host, options.allowedHosts)
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (passes(guard, request.headers, reply)) done()
  }
  const handler = untilDraining(options.handler, app.draining)
  const endpoint = createEndpoint({ ...options, handler, inFlight: app.inFlight })
  const shared = { onRequest, endpoint, config: options.config, forwarder: forwarderOf(app, options) }
  const add = (url: string, lookup: Lookup) => addMcpRoute(app, { ...shared, url, lookup })
  add('/mcp', current => gatewayRoute(current, undefined))
  add('/mcp/:profile', (current, { profile }) => gatewayRoute(current, profile))
  add('/servers/:server/mcp', (current, { server }) => serverRoute(current, server ?? ''))
  addHealth(app, options.ready)
  addPages(app, options, onRequest)
  return app.listen(options.host, options.port)
}

/** Whoever listens for changes is not waited for at the end. */
function untilDraining(handler: McpHandler, draining: AbortSignal): McpHandler {
  const { listen } = handler
  if (!listen) return handler
  return {
    ...handler,
    listen: listening => listen({ ...listening, signal: AbortSignal.any([listening.signal, draining]) }),
  }
}

/** Hands over what belongs to replicas; it ends with the server. */
export function forwarderOf(
  { fastify, inFlight }: App,
  { owner, ...options }: Pick<ServeOptions, 'owner' | 'sessions' | 'log' | 'clock'>,
): Forwarder | undefined {
  if (owner === undefined) return undefined
  const forwarder = createForwarder({ ...options, owner, inFlight })
  fastify.addHook('onClose', () => forwarder.close())
  return forwarder
}

type RouteParams = { profile?: string; server?: string }
type Lookup = (config: RouterConfig, params: RouteParams) => RouteLookup

export type McpRouteOptions = {
  url: string
  /** Lets a request in, or answers it. */
  onRequest: (request: FastifyRequest, reply: FastifyReply, done: () => void) => void
  endpoint: Endpoint
  config: () => RouterConfig | undefined
  lookup: Lookup
  forwarder?: Forwarder
}

/** An MCP endpoint at a path; while the server ends, each answer is the last on its connection. */
export function addMcpRoute(
  app: App,
  { url, onRequest, endpoint, config: configOf, lookup, forwarder }: McpRouteOptions,
): void {
  const answer = (route: McpRoute, request: FastifyRequest, raw: ServerResponse) => {
    if (request.method === 'POST') endpoint.post(route, request.headers, request.body as string, raw)
    else if (request.method === 'DELETE') endpoint.remove(request.headers, raw)
    else refuseMethod(raw)
  }
  app.fastify.route<{ Params: RouteParams }>({
    method: MCP_METHODS,
    url,
    onRequest,
    handler: (request, reply) => {
      reply.hijack()
      const { raw } = reply
      if (app.draining.aborted) raw.shouldKeepAlive = false
      if (request.method === 'OPTIONS') return writeText(raw, 204, undefined)
      const config = configOf()
      if (!config) return unavailable(raw)
      const { route, problem } = lookup(config, request.params)
      if (!route) return writeText(raw, 404, errorText(null, { code: TRANSPORT_ERROR, message: problem }))
      const handed = forwarder?.forward(config, route, request, raw)
      if (!handed) return answer(route, request, raw)
      void handed.then(done => done || answer(route, request, raw))
    },
  })
}

/** Refuses what the guard refuses, and gives CORS headers to what it lets in. */
function passes(guard: Guard, headers: IncomingHttpHeaders, reply: FastifyReply): boolean {
  const problem = guard.refusal(headers)
  if (problem !== undefined) {
    respond(reply, 403, TRANSPORT_ERROR, problem)
    return false
  }
  if (headers.origin !== undefined) {
    for (const [name, value] of Object.entries(guard.corsHeaders(headers))) reply.raw.setHeader(name, value)
  }
  return true
}

/** No stream to listen on: changes are told ahead of answers, and every SDK takes 405 for an answer. */
function refuseMethod(raw: ServerResponse): void {
  const message = 'Method not allowed: this endpoint has no event stream; use POST.'
  writeText(raw, 405, errorText(null, { code: TRANSPORT_ERROR, message }), ['allow', ALLOWED_METHODS])
}

function unavailable(raw: ServerResponse): void {
  const message = 'The gateway has no catalog yet; try again in a second.'
  writeText(raw, 503, errorText(null, { code: TRANSPORT_ERROR, message }), ['retry-after', '1'])
}

export function addHealth({ fastify, draining }: App, ready: () => Readiness): void {
  fastify.get('/healthz', (_request, reply) => reply.send({ status: 'ok' }))
  fastify.get('/readyz', (_request, reply) => {
    const readiness = draining.aborted ? { ready: false, reason: 'draining' } : ready()
    reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
}

function addPages(
  { fastify }: App,
  { metrics, debugStatus, explain }: ServeOptions,
  onRequest: McpRouteOptions['onRequest'],
): void {
  if (metrics) fastify.get('/metrics', { onRequest }, async (_request, reply) => sendMetrics(metrics, reply))
  if (!debugStatus) return
  const here = (request: FastifyRequest, reply: FastifyReply, done: () => void) =>
    onRequest(request, reply, () => {
      if (LOOPBACK_ADDRESS.test(request.raw.socket.remoteAddress ?? '')) done()
      else respond(reply, 403, TRANSPORT_ERROR, 'This page is for this machine only.')
    })
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
