/** The router's HTTP server: MCP endpoints, health, metrics and status, with a graceful end. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Clock } from '../../core/async.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createEndpoint, type Endpoint } from '../../core/mcp/front/endpoint.ts'
import { JSON_TYPE, writeText } from '../../core/mcp/front/exchange.ts'
import type { McpHandler } from '../../core/mcp/front/handler.ts'
import { InFlight } from '../../core/mcp/front/in-flight.ts'
import { INTERNAL_ERROR, PARSE_ERROR, TRANSPORT_ERROR } from '../../core/mcp/front/rejection.ts'
import { errorText } from '../../core/mcp/front/reply.ts'
import type { Sessions } from '../../core/mcp/front/session.ts'
import { createGuard, type Guard } from './guard.ts'
import { gatewayRoute, type RouteLookup, serverRoute } from './routes.ts'

export type Readiness = { ready: boolean; reason?: string }

export type ServeOptions = {
  host: string
  /** 0 for any that is free. */
  port: number
  /** Names accepted in Host and Origin besides loopback and `host`. */
  allowedHosts: readonly string[]
  handler: McpHandler
  sessions: Sessions
  /** Undefined while there is no catalog yet: MCP is then answered 503. */
  config: () => RouterConfig | undefined
  ready: () => Readiness
  metrics: () => Promise<{ contentType: string; text: string }>
  /** What /debug/status shows to callers on this machine; absent: no such page. */
  debugStatus?: () => JsonObject
  log: Log
  clock: Clock
}

export type HttpServer = {
  address: { host: string; port: number }
  /** Stops accepting, waits up to `drainMs` for what is in flight, then closes every connection. Idempotent. */
  close(drainMs: number): Promise<void>
}

export const MAX_BODY_BYTES = 4 * 1024 * 1024
const MAX_CONNECTIONS = 4_096
const REQUEST_TIMEOUT_MS = 60_000
const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'PUT', 'PATCH']
const ALLOWED_METHODS = 'POST, DELETE, OPTIONS'
const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/

type State = ServeOptions & { guard: Guard; endpoint: Endpoint; inFlight: InFlight; draining: boolean }

/** Listens at once. Throws a Fault `io` where the port is taken or the address is not ours. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const inFlight = new InFlight()
  const endpoint = createEndpoint({ ...options, inFlight })
  const guard = createGuard(options.host, options.allowedHosts)
  const state: State = { ...options, guard, endpoint, inFlight, draining: false }
  const app = createApp(state)
  await listen(app, options.host, options.port)
  const { port } = app.server.address() as AddressInfo
  let closing: Promise<void> | undefined
  return {
    address: { host: options.host, port },
    close(drainMs) {
      closing ??= close(app, state, drainMs)
      return closing
    },
  }
}

async function close(app: FastifyInstance, state: State, drainMs: number): Promise<void> {
  state.draining = true
  app.server.close()
  await state.inFlight.drain(drainMs, state.clock)
  await app.close()
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    const code = (cause as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE') {
      const message = `Port ${port} on ${host} is already in use; choose another with --port, or stop what uses it.`
      throw new Fault('io', message, { cause, details: { port } })
    }
    throw new Fault('io', `Cannot listen on ${host} port ${port}: ${messageOf(cause)}`, {
      cause,
      details: { port },
    })
  }
}

function createApp(state: State): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    exposeHeadRoutes: false,
  })
  app.server.maxConnections = MAX_CONNECTIONS
  app.removeAllContentTypeParsers()
  // The usual type by its name too: it is found without parsing the header.
  for (const type of [JSON_TYPE, '*'])
    app.addContentTypeParser(type, { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
    refuse(state, error, reply),
  )
  app.setNotFoundHandler((request, reply) => {
    respond(
      reply,
      404,
      TRANSPORT_ERROR,
      `Nothing is served at ${request.method} ${request.url.slice(0, 200)}`,
    )
  })
  addMcpRoutes(app, state)
  addPages(app, state)
  return app
}

/** Errors before a handler ran: a body too large, cut off, or of an impossible type. */
function refuse(state: State, error: Error & { statusCode?: number }, reply: FastifyReply): void {
  const status = error.statusCode ?? 500
  if (status >= 500) {
    state.log.error({ err: error }, 'HTTP request failed unexpectedly')
    respond(reply, status, INTERNAL_ERROR, 'Internal error')
  } else if (status === 413) {
    respond(reply, status, TRANSPORT_ERROR, `Payload too large: at most ${MAX_BODY_BYTES} bytes`)
  } else {
    respond(reply, status, status === 400 ? PARSE_ERROR : TRANSPORT_ERROR, error.message)
  }
}

function respond(reply: FastifyReply, status: number, code: number, message: string): void {
  reply.code(status).type(JSON_TYPE).send(errorText(null, { code, message }))
}

function addMcpRoutes(app: FastifyInstance, state: State): void {
  type Params = { profile?: string; server?: string }
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (passes(state, request.headers, reply)) done()
  }
  const add = (url: string, lookup: (config: RouterConfig, params: Params) => RouteLookup) =>
    app.route<{ Params: Params }>({
      method: MCP_METHODS,
      url,
      onRequest,
      handler: (request, reply) => {
        reply.hijack()
        const config = state.config()
        const { raw } = reply
        if (request.method === 'OPTIONS') return writeText(raw, 204, undefined)
        if (!config || state.draining) return unavailable(raw, state.draining)
        const { route, problem } = lookup(config, request.params)
        if (!route) return writeText(raw, 404, errorText(null, { code: TRANSPORT_ERROR, message: problem }))
        if (request.method === 'POST')
          return state.endpoint.post(route, request.headers, request.body as string, raw)
        if (request.method === 'DELETE') return state.endpoint.remove(request.headers, raw)
        // No stream to listen on: the lists of meta-tools never change, and every SDK takes 405 for an answer.
        const message = 'Method not allowed: this endpoint has no event stream; use POST.'
        writeText(raw, 405, errorText(null, { code: TRANSPORT_ERROR, message }), ['allow', ALLOWED_METHODS])
      },
    })
  add('/mcp', config => gatewayRoute(config, undefined))
  add('/mcp/:profile', (config, { profile }) => gatewayRoute(config, profile))
  add('/servers/:server/mcp', (config, { server }) => serverRoute(config, server ?? ''))
}

/** Refuses what the guard refuses, and gives CORS headers to what it lets in. */
function passes({ guard }: State, headers: IncomingHttpHeaders, reply: FastifyReply): boolean {
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

function unavailable(raw: ServerResponse, draining: boolean): void {
  const message = draining
    ? 'The gateway is shutting down.'
    : 'The gateway has no catalog yet; try again in a second.'
  const headers = draining ? ['connection', 'close'] : ['retry-after', '1']
  writeText(raw, 503, errorText(null, { code: TRANSPORT_ERROR, message }), headers)
}

function addPages(app: FastifyInstance, state: State): void {
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (passes(state, request.headers, reply)) done()
  }
  app.get('/healthz', (_request, reply) => reply.send({ status: 'ok' }))
  app.get('/readyz', (_request, reply) => {
    const readiness = state.draining ? { ready: false, reason: 'draining' } : state.ready()
    reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
  app.get('/metrics', { onRequest }, async (_request, reply) => {
    const { contentType, text } = await state.metrics()
    return reply.type(contentType).send(text)
  })
  const { debugStatus } = state
  if (!debugStatus) return
  app.get('/debug/status', { onRequest }, (request, reply) => {
    if (LOOPBACK_ADDRESS.test(request.raw.socket.remoteAddress ?? '')) reply.send(debugStatus())
    else respond(reply, 403, TRANSPORT_ERROR, 'The status page is for this machine only.')
  })
}
