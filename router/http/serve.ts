/** The router's HTTP server for agents: MCP endpoints and health; without an admin port also metrics and status. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { isOnThisMachine } from '../../core/console/guarded.ts'
import type { JsonObject } from '../../core/json.ts'
import { TRANSPORT_ERROR } from '../../core/mcp/protocol/error-codes.ts'
import type { FrontClients } from '../../core/mcp/server/clients.ts'
import { createEndpoint, type EndpointOptions } from '../../core/mcp/server/endpoint.ts'
import type { McpHandler } from '../../core/mcp/server/handler.ts'
import type { SignedSessions } from '../../core/mcp/server/session-ids.ts'
import type { InternalCredentials } from '../access/internal-credential.ts'
import { createLoginShares } from '../access/login-shares.ts'
import { addLaptopConsole, type LaptopConsole } from '../console/laptop.ts'
import { type App, type AppOptions, createApp, type HttpServer, type OnRequest, respond } from './app.ts'
import { challengeFor, resourceMetadata } from './challenge.ts'
import { addConnectPages, type ConnectHost } from './connect-pages.ts'
import { createForwarder } from './forwarder.ts'
import { createGuard, type Guard } from './guard.ts'
import { createLoginSteps } from './login-steps.ts'
import { addMcpRoute, type Identify, type Lookup, type McpRouteOptions } from './mcp-route.ts'
import { originOf } from './owner.ts'
import { addProofPage } from './replica-proofs.ts'
import { gatewayRoute, serverRoute } from './routes.ts'
import { addUsersPage, type UsersPage } from './users-page.ts'

export type Readiness = { ready: boolean; reason?: string }

/** The handler of a port, and the state of its clients. */
export type FrontOptions = Pick<AppOptions, 'log' | 'clock'> & {
  handler: McpHandler
  sessions: SignedSessions
  /** State kept for clients between their requests. */
  clients?: FrontClients
  /** This server's name for its replicas, made by `ownerAt`; requests that belong to them are forwarded. Absent: there are none. */
  owner?: string
  /** Those of replicas. Absent: there are none. */
  credentials?: InternalCredentials
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
    openRequests?: McpRouteOptions['openRequests']
    limits?: McpRouteOptions['limits']
    failedLogins?: McpRouteOptions['failedLogins']
    audit?: McpRouteOptions['audit']
    ready: () => Readiness
    /** Absent: metrics are served elsewhere. */
    metrics?: MetricsPage
    /** Content of /debug/status, for callers on this machine only. Absent: the page is not served. */
    debugStatus?: () => JsonObject
    /** Content of /debug/users; served if the status page is. */
    users?: UsersPage
    /** Who answers the pages at /connect now. Absent: they are not served. */
    connectHost?: () => ConnectHost
    /** The console at /. Absent: it is not served. */
    laptopConsole?: LaptopConsole
    /** Content of /debug/explain for a query; served if the status page is. */
    explain?: (query: string, limit: number, signal: AbortSignal) => Promise<JsonObject>
  }

export type MetricsPage = () => Promise<{ contentType: string; text: string }>

const EXPLAIN_TIMEOUT_MS = 10_000
const DEFAULT_EXPLAINED = 10
const MAX_EXPLAINED = 50

/** Listens at once. Throws a Fault `unavailable` if the port is in use or the address is not of this machine. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const app = createApp(options)
  const guard = createGuard(options.host, options.allowedHosts)
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (passes(guard, request, reply)) done()
  }
  const { config, configSeenBy, identify, credentials, openRequests, limits, failedLogins, audit, log } =
    options
  const means = {
    config,
    configSeenBy,
    identify,
    credentials,
    openRequests,
    limits,
    failedLogins,
    audit,
    log,
  }
  const shared = { ...createFront(app, options), onRequest, ...means }
  const add = (url: string, lookup: Lookup) => addMcpRoute(app, { ...shared, url, lookup })
  add('/mcp', current => gatewayRoute(current, undefined))
  add('/mcp/:profile', (current, { profile }) => gatewayRoute(current, profile))
  add('/servers/:server/mcp', (current, { server }) => serverRoute(current, server ?? ''))
  addResourceMetadata(app, options, onRequest)
  addHealth(app, options.ready)
  addPages(app, options, onRequest)
  if (options.laptopConsole) addLaptopConsole(app, options.laptopConsole, onRequest)
  return app.listen(options.host, options.port)
}

/**
 * Protected resource metadata, from which clients learn where to log in; 404 if they cannot log in. Browsers send `OPTIONS` before they
 * read it: the hook has set the headers that answer them.
 */
function addResourceMetadata({ fastify }: App, { config }: ServeOptions, onRequest: OnRequest): void {
  const method = ['GET', 'OPTIONS']
  const send = (asked: string, path: string, reply: FastifyReply): FastifyReply => {
    if (asked === 'OPTIONS') return reply.code(204).header('allow', method.join(', ')).send()
    const metadata = resourceMetadata(config()?.access, path)
    return metadata ? reply.send(metadata) : reply.code(404).send()
  }
  const url = '/.well-known/oauth-protected-resource'
  fastify.route({ method, url, onRequest, handler: (request, reply) => send(request.method, '', reply) })
  fastify.route<{ Params: { '*': string } }>({
    method,
    url: `${url}/*`,
    onRequest,
    handler: (request, reply) => send(request.method, `/${request.params['*']}`, reply),
  })
}

/** Creates an MCP endpoint and the forwarder to its replicas. Both close with the server; open streams do not delay that. */
export function createFront(
  app: App,
  options: FrontOptions & Partial<Pick<ServeOptions, 'config'>>,
): Pick<McpRouteOptions, 'endpoint' | 'forwarder'> {
  const { fastify, inFlight, draining } = app
  const { owner, credentials, config } = options
  const forwarder =
    owner === undefined || !credentials
      ? undefined
      : createForwarder({ ...options, owner, credentials, inFlight, draining })
  const origin = owner === undefined ? undefined : originOf(owner)
  if (origin !== undefined && credentials) addProofPage(app, origin, credentials)
  const challenge: EndpointOptions['challenge'] = (raw, identity, scopes) =>
    challengeFor(config?.()?.access ?? OPEN_ACCESS, raw.req.url ?? '', identity, scopes)
  const endpoint = createEndpoint({ ...options, inFlight, challenge, onStrayCancel: forwarder?.notifyAll })
  draining.addEventListener('abort', endpoint.end)
  if (forwarder) fastify.addHook('onClose', () => forwarder.close())
  return { endpoint, forwarder }
}

/** Whether the guard allows a request. Answers refused ones, and sets CORS headers on allowed ones. */
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

/** Adds /healthz and /readyz, which is not ready while the server closes. */
export function addHealth({ fastify, draining }: App, ready: () => Readiness): void {
  const options = { exposeHeadRoute: true }
  fastify.get('/healthz', options, (_request, reply) => reply.send({ status: 'ok' }))
  fastify.get('/readyz', options, (_request, reply) => {
    const readiness = draining.aborted ? { ready: false, reason: 'draining' } : ready()
    reply.code(readiness.ready ? 200 : 503).send(readiness)
  })
}

function addPages(app: App, options: ServeOptions, onRequest: OnRequest): void {
  const { config, metrics, debugStatus, users, connectHost, explain, audit, log, clock } = options
  const { fastify } = app
  const here = (request: FastifyRequest, reply: FastifyReply, done: () => void) =>
    onRequest(request, reply, () => {
      if (isOnThisMachine(request.raw)) done()
      else respond(reply, 403, TRANSPORT_ERROR, 'This page is served to callers on this machine only.')
    })
  // Metrics name servers and tools, which not every caller may see if callers are distinguished by credentials.
  const admitted: OnRequest = (request, reply, done) =>
    (config()?.access.auth ? here : onRequest)(request, reply, done)
  if (metrics)
    fastify.get('/metrics', { onRequest: admitted }, async (_request, reply) => sendMetrics(metrics, reply))
  // Where the user is not known by the machine, the pages themselves compare the Origin with the gateway's own.
  if (connectHost) {
    const admit = ({ knowsByMachine }: ConnectHost) => (knowsByMachine ? here : anyone)
    const steps = createLoginSteps({ audit, config })
    addConnectPages(app, { host: connectHost, admit, shares: createLoginShares(clock), steps, log })
  }
  if (!debugStatus) return
  fastify.get('/debug/status', { onRequest: here }, (_request, reply) => reply.send(debugStatus()))
  if (users) addUsersPage(app, users, here)
  if (!explain) return
  fastify.get<{ Querystring: { query?: string; limit?: string } }>(
    '/debug/explain',
    { onRequest: here },
    ({ query: { query = '', limit } }) =>
      explain(String(query), readLimit(limit), AbortSignal.timeout(EXPLAIN_TIMEOUT_MS)),
  )
}

const anyone: OnRequest = (_request, _reply, done) => done()

function readLimit(limit: string | undefined): number {
  const asked = Number(limit ?? DEFAULT_EXPLAINED)
  return Number.isInteger(asked) ? Math.min(MAX_EXPLAINED, Math.max(1, asked)) : DEFAULT_EXPLAINED
}

export async function sendMetrics(metrics: MetricsPage, reply: FastifyReply): Promise<FastifyReply> {
  const { contentType, text } = await metrics()
  return reply.type(contentType).send(text)
}
