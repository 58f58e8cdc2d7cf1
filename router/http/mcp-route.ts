/** An MCP endpoint at a path: what arrives is let in, read within bounds, and answered here or by the replica it belongs to. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Log } from '../../core/log.ts'
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

/** All that node:http and fastify know: what is not served is answered 405, not 404. */
const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'TRACE']
const ALLOW = ['allow', 'POST, GET, DELETE, OPTIONS']
/** Of one connection too: whoever pipelines may have them all. */
const MAX_IN_FLIGHT = 8_192

/** While the server ends, each answer is the last on its connection. */
export function addMcpRoute(app: App, options: McpRouteOptions): void {
  const { url, onRequest, config: configOf, lookup, log } = options
  const receive = (request: McpHttpRequest, reply: FastifyReply) => {
    reply.hijack()
    const { raw } = reply
    if (app.draining.aborted) sayThatItEnds(request, raw)
    if (request.method === 'OPTIONS') return writeText(raw, 204, undefined, ALLOW)
    const config = configOf()
    if (!config) return comeAgain(raw, 'The gateway has no catalog yet')
    const { route, problem } = lookup(config, request.params)
    if (!route) return refuse(raw, 404, problem)
    const take = (body?: string) => {
      if (app.inFlight.size >= MAX_IN_FLIGHT) return comeAgain(raw, 'Too many requests at once')
      try {
        pass(options, config, route, request, body, raw)
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
    // Already here: on the way to a handler fastify would look for a parser of the body.
    onRequest: (request, reply) => onRequest(request, reply, () => receive(request, reply)),
    handler: () => {},
  })
}

/** Callers need another connection; a replica that handed it over needs another replica. */
function sayThatItEnds({ headers }: FastifyRequest, raw: ServerResponse): void {
  raw.shouldKeepAlive = false
  if (headers[FORWARDED] !== undefined) raw.setHeader(ENDING, '1')
}

/** To the replica that it belongs to; here where that is us, or gone. */
function pass(
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
    // As any server says that was started anew: the client then begins again by itself.
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
  if (method === 'POST') endpoint.post(route, headers, body, raw)
  else if (method === 'GET') endpoint.get(route, headers, raw)
  else if (method === 'DELETE') endpoint.remove(headers, raw)
  else refuse(raw, 405, 'Method not allowed: use POST, GET or DELETE.', ALLOW)
}

function isEncoded({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
}

function refuseEncoding(raw: ServerResponse): void {
  refuse(raw, 415, 'Unsupported Content-Encoding: send the body as it is', ['accept-encoding', 'identity'])
}

function comeAgain(raw: ServerResponse, problem: string): void {
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
