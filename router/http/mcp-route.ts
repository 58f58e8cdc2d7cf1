/** An MCP endpoint at a path: checks requests, reads their bodies within limits, and answers here or forwards to the owning replica. */

import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { peerAddress } from '../../core/addresses.ts'
import type { AccessConfig } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import type { Log } from '../../core/log.ts'
import { ANONYMOUS, type Identity } from '../../core/mcp/identity.ts'
import { SESSION_NOT_FOUND, TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { Endpoint } from '../../core/mcp/server/endpoint.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { writeText } from '../../core/mcp/server/post-response.ts'
import { errorText } from '../../core/mcp/server/reply.ts'
import type { Found } from '../access/authentication.ts'
import type { Refused } from '../access/bearer.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import { type InternalCredentials, NOT_OF_A_REPLICA } from '../access/internal-credential.ts'
import { type Limited, limitedSentence, secondsOf } from '../access/limits.ts'
import type { Audit } from '../audit/audit.ts'
import { loginLimited, loginRefused, requestLimited, serverHidden } from '../audit/of-http.ts'
import type { App, OnRequest } from './app.ts'
import { challengeHeaders } from './challenge.ts'
import type { Forwarder } from './forwarder.ts'
import type { OpenRequests } from './open-requests.ts'
import { ENDING, FORWARDED } from './replicas.ts'
import { batchBeyond, isSignedAs, limitsFor, type RequestLimits } from './request-limits.ts'
import type { RouteLookup } from './routes.ts'

export type RouteParams = { profile?: string; server?: string }
export type Lookup = (config: RouterConfig, params: RouteParams) => RouteLookup

export type McpRouteOptions = {
  url: string
  onRequest: OnRequest
  endpoint: Endpoint
  /** Undefined while there is no catalog yet. */
  config: () => RouterConfig | undefined
  /** The config as a caller sees it: with the servers that it may use. Absent: every caller sees all. */
  configSeenBy?: (identity: Identity) => RouterConfig
  /** Absent: every caller is anonymous. */
  identify?: Identify
  /** Those of replicas, for requests of their own and for those that they forward. Absent: `identify` accepts none. */
  credentials?: InternalCredentials
  /** Keeps all requests: also those without a credential may be refused once the config changes. */
  openRequests?: Pick<OpenRequests, 'add'>
  /** Absent: requests are not limited. */
  limits?: RequestLimits
  /** Absent: credentials may fail as often as they like. */
  failedLogins?: FailedLogins
  /** Absent: nothing is recorded. */
  audit?: Pick<Audit, 'admitted' | 'decided' | 'isBlocked'>
  lookup: Lookup
  forwarder?: Forwarder
  log: Log
}

/** Who sends a request with this `Authorization` header. At once if the credential is known; never rejects. */
export type Identify = (access: AccessConfig, authorization: string | undefined) => Found | Promise<Found>

type McpHttpRequest = FastifyRequest<{ Params: RouteParams }>

/** All methods that fastify supports, so that methods we do not serve are answered with 405, not 404. */
const MCP_METHODS = ['POST', 'GET', 'DELETE', 'OPTIONS', 'HEAD', 'PUT', 'PATCH', 'TRACE']
const NO_CATALOG = 'The gateway has no catalog yet'
export const AUDIT_BLOCKED = 'Audit lines cannot be written, and requests must not go unrecorded'
const ALLOW = ['allow', 'POST, GET, DELETE, OPTIONS']
/** Also applies within one connection, since a client may pipeline requests. */
const MAX_IN_FLIGHT = 8_192

/** Adds the route. While the server is closing, each answer is the last on its connection. */
export function addMcpRoute(app: App, options: McpRouteOptions): void {
  const { url, onRequest } = options
  const receive = (request: McpHttpRequest, reply: FastifyReply) => {
    reply.hijack()
    const { raw } = reply
    if (app.draining.aborted) announceClosing(request, raw)
    if (request.method === 'OPTIONS') return writeText(raw, 204, undefined, ALLOW)
    enter(app, options, request, raw)
  }
  app.fastify.route<{ Params: RouteParams }>({
    method: MCP_METHODS,
    url,
    // Handled in this hook already: before a handler runs, fastify looks for a parser of the body.
    onRequest: (request, reply) => onRequest(request, reply, () => receive(request, reply)),
    handler: () => {},
  })
}

/** Authenticates the caller; once more if the config changed meanwhile, so that nobody is admitted by replaced rules. */
function enter(app: App, options: McpRouteOptions, request: McpHttpRequest, raw: ServerResponse): void {
  const { config: configOf, identify, audit, log } = options
  const config = configOf()
  if (!config) {
    answerUnavailable(raw, NO_CATALOG)
    return
  }
  const { access } = config
  if (audit?.isBlocked(access)) {
    answerUnavailable(raw, AUDIT_BLOCKED)
    return
  }
  const { authorization } = request.headers
  const admit = (found: Found): void => {
    if ('id' in found) {
      app.room.admitted(raw)
      options.openRequests?.add(raw, found, authorization)
      admitted(app, options, request, found, raw)
    } else refuseLogin(options, config, request, found, raw)
  }
  const found = identify ? identify(access, authorization) : ANONYMOUS
  if (!(found instanceof Promise)) {
    admit(found)
    return
  }
  const admitIfCurrent = (found: Found): void =>
    configOf()?.access === access ? admit(found) : enter(app, options, request, raw)
  found.then(admitIfCurrent).catch(error => {
    log.error({ err: error }, 'request failed unexpectedly')
    raw.destroy()
  })
}

/** Answers a request whose credential is not accepted. Accepted ones are never limited because others at their address failed. */
function refuseLogin(
  { failedLogins, audit }: McpRouteOptions,
  config: RouterConfig,
  request: McpHttpRequest,
  found: Refused,
  raw: ServerResponse,
): void {
  const address = addressOf(request)
  const limited = failedLogins?.failed(found, address)
  audit?.decided(config, limited ? loginLimited(limited, address) : loginRefused(found, address))
  if (limited) refuseLimited(raw, limited)
  else refuse(raw, found.status, found.message, challengeHeaders(config.access, pathOf(request), found))
}

/** Reads the body of a request whose caller is known, and answers it. */
function admitted(
  app: App,
  options: McpRouteOptions,
  request: McpHttpRequest,
  identity: Identity,
  raw: ServerResponse,
): void {
  const { lookup, audit, log } = options
  const whole = options.config()
  const config = options.configSeenBy?.(identity) ?? whole
  if (config) audit?.admitted(config, identity, addressOf(request))
  const limits = limitsFor(options, request)
  const limited = config && limits?.request(config, identity)
  if (limited) {
    audit?.decided(config, requestLimited(limited, identity, addressOf(request)))
    refuseLimited(raw, limited)
    return
  }
  const { route, problem = NO_CATALOG } = config ? lookup(config, request.params) : {}
  if (!config || !route) {
    const { server } = request.params
    if (whole && server !== undefined && lookup(whole, request.params).route)
      audit?.decided(whole, serverHidden(server, identity, addressOf(request)))
    refuse(raw, config ? 404 : 503, problem)
    return
  }
  const take = (body?: string) => {
    if (!isSignedAs(options.credentials, request, body)) {
      refuseLogin(options, config, request, NOT_OF_A_REPLICA, raw)
      return
    }
    const beyond = batchBeyond(limits, config, identity, body)
    if (beyond) {
      audit?.decided(config, requestLimited(beyond, identity, addressOf(request)))
      return refuseLimited(raw, beyond)
    }
    if (app.inFlight.size >= MAX_IN_FLIGHT) return answerUnavailable(raw, 'Too many requests at once')
    try {
      forwardOrAnswer(options, config, route, { request, identity, body }, raw)
    } catch (error) {
      log.error({ err: error }, 'request failed unexpectedly')
      raw.destroy()
    }
  }
  if (request.method !== 'POST') take()
  else if (isEncoded(request)) refuseEncoding(raw)
  else app.bodies.read(request.raw, raw, take)
}

function refuseLimited(raw: ServerResponse, limited: Limited): void {
  refuse(raw, 429, limitedSentence(limited), ['retry-after', secondsOf(limited.waitMs)])
}

function addressOf({ raw }: FastifyRequest): string | undefined {
  return peerAddress(raw.socket)
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?', 1)[0] as string
}

/** Makes callers open another connection, and tells a forwarding replica to choose another owner. */
function announceClosing({ headers }: FastifyRequest, raw: ServerResponse): void {
  raw.shouldKeepAlive = false
  if (headers[FORWARDED] !== undefined) raw.setHeader(ENDING, '1')
}

type Received = { request: FastifyRequest; identity: Identity; body: string | undefined }

/** Forwards the request to the replica that it belongs to; answers here if that is this one, or if it is gone. */
function forwardOrAnswer(
  { endpoint, forwarder }: McpRouteOptions,
  config: RouterConfig,
  route: McpRoute,
  received: Received,
  raw: ServerResponse,
): void {
  const here = (): void => answer(endpoint, route, received, raw)
  const forwarded = forwarder?.forward(config, route, received.request, received.body, raw)
  if (!forwarded) here()
  void forwarded?.then(outcome => {
    if (outcome === 'gone') here()
    // The answer of a restarted server, after which clients initialize again by themselves.
    if (outcome === 'gone, bound')
      refuse(raw, 404, 'Session not found; initialize again', [], SESSION_NOT_FOUND)
  })
}

function answer(
  endpoint: Endpoint,
  route: McpRoute,
  { request: { method, headers }, identity, body }: Received,
  raw: ServerResponse,
): void {
  if (method === 'POST') endpoint.post(route, headers, body, identity, raw)
  else if (method === 'GET') endpoint.get(route, headers, identity, raw)
  else if (method === 'DELETE') endpoint.remove(headers, identity, raw)
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
