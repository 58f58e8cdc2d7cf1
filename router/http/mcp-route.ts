/** An MCP endpoint at a path: checks requests, reads their bodies within limits, and answers here or forwards to the owning replica. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Log } from '../../core/log.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { SESSION_NOT_FOUND, TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { Endpoint } from '../../core/mcp/server/endpoint.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { writeText } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import type { App, OnRequest } from './app.ts'
import type { Forwarder } from './forwarder.ts'
import { ENDING, FORWARDED } from './replicas.ts'
import type { RouteLookup } from './routes.ts'

export type RouteParams = { profile?: string; server?: string }
export type Lookup = (config: RouterConfig, params: RouteParams) => RouteLookup

export type McpRouteOptions = {
  url: string
  onRequest: OnRequest
  endpoint: Endpoint
  config: () => RouterConfig | undefined
  lookup: Lookup
  forwarder?: Forwarder
  log: Log
}

type McpHttpRequest = FastifyRequest<{ Params: RouteParams }>

/** All methods that fastify supports, so that methods we do not serve are answered with 405, not 404. */
const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'TRACE']
const ALLOW = ['allow', 'POST, GET, DELETE, OPTIONS']
/** Also applies within one connection, since a client may pipeline requests. */
const MAX_IN_FLIGHT = 8_192

/** Adds the route. While the server is closing, each answer is the last on its connection. */
export function addMcpRoute(app: App, options: McpRouteOptions): void {
  const { url, onRequest, config: configOf, lookup, log } = options
  const receive = (request: McpHttpRequest, reply: FastifyReply) => {
    reply.hijack()
    const { raw } = reply
    if (app.draining.aborted) announceClosing(request, raw)
    if (request.method === 'OPTIONS') return writeText(raw, 204, undefined, ALLOW)
    const config = configOf()
    if (!config) return answerUnavailable(raw, 'The gateway has no catalog yet')
    const { route, problem } = lookup(config, request.params)
    if (!route) return refuse(raw, 404, problem)
    const take = (body?: string) => {
      if (app.inFlight.size >= MAX_IN_FLIGHT) return answerUnavailable(raw, 'Too many requests at once')
      try {
        forwardOrAnswer(options, config, route, request, body, raw)
      } catch (error) {
        log.error({ err: error }, 'request failed unexpectedly')
        raw.destroy()
      }
    }
    if (request.method !== 'POST') return take()
    if (isEncoded(request)) return refuseEncoding(raw)
    app.bodies.read(request.raw, raw, take)
  }
  app.fastify.route<{ Params: RouteParams }>({
    method: MCP_METHODS,
    url,
    // Handled in this hook already: before a handler runs, fastify looks for a parser of the body.
    onRequest: (request, reply) => onRequest(request, reply, () => receive(request, reply)),
    handler: () => {},
  })
}

/** Makes callers open another connection, and tells a forwarding replica to choose another owner. */
function announceClosing({ headers }: FastifyRequest, raw: ServerResponse): void {
  raw.shouldKeepAlive = false
  if (headers[FORWARDED] !== undefined) raw.setHeader(ENDING, '1')
}

/** Forwards the request to the replica that it belongs to; answers here if that is this one, or if it is gone. */
function forwardOrAnswer(
  { endpoint, forwarder }: McpRouteOptions,
  config: RouterConfig,
  route: McpRoute,
  request: FastifyRequest,
  body: string | undefined,
  raw: ServerResponse,
): void {
  const here = (): void => answer(endpoint, route, request, body, raw)
  const handed = forwarder?.forward(config, route, request, body, raw)
  if (!handed) here()
  void handed?.then(outcome => {
    if (outcome === 'gone') here()
    // As a restarted server answers: the client then initializes again by itself.
    if (outcome === 'gone, bound')
      refuse(raw, 404, 'Session not found; initialize again', [], SESSION_NOT_FOUND)
  })
}

function answer(
  endpoint: Endpoint,
  route: McpRoute,
  { method, headers }: FastifyRequest,
  body: string | undefined,
  raw: ServerResponse,
): void {
  if (method === 'POST') endpoint.post(route, headers, body, ANONYMOUS, raw)
  else if (method === 'GET') endpoint.get(route, headers, ANONYMOUS, raw)
  else if (method === 'DELETE') endpoint.remove(headers, ANONYMOUS, raw)
  else refuse(raw, 405, 'Method not allowed: use POST, GET or DELETE.', ALLOW)
}

function isEncoded({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
}

function refuseEncoding(raw: ServerResponse): void {
  refuse(raw, 415, 'Unsupported Content-Encoding: send the body as it is', ['accept-encoding', 'identity'])
}

function answerUnavailable(raw: ServerResponse, problem: string): void {
  refuse(raw, 503, `${problem}; try again in a second.`, ['retry-after', '1'])
}

function refuse(
  raw: ServerResponse,
  status: number,
  message: string,
  headers: readonly string[] = [],
  code = TRANSPORT_ERROR,
): void {
  writeText(raw, status, errorText(null, { code, message }), headers)
}
