/**
 * The operator's console: one page for all gateways, on the loopback interface of the pod. People open it through
 * `kubectl port-forward`, so everyone with the right to `pods/portforward` in the operator's namespace can see it.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listen } from '../../core/addresses.ts'
import type { Clock } from '../../core/async.ts'
import { CONSOLE_HEADERS, foreignPage, isLoopbackName, noActionOf } from '../../core/console/guarded.ts'
import { type ConsolePage, fileOf } from '../../core/console/page.ts'
import { Fault } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { ClusterView, GatewayPlace } from './cluster-view.ts'
import { forwardData, forwardMcp } from './forward.ts'
import { streamToPage } from './page-stream.ts'
import type { RouterClient } from './router-client.ts'

export type ConsoleServerOptions = {
  page: ConsolePage
  view: ClusterView
  client: RouterClient
  /** 0: any free port. */
  port: number
  log: Log
  clock: Clock
  random: () => number
}

export type ConsoleServer = { port: number; close(): Promise<void> }

const HOST = '127.0.0.1'
const MAX_CONNECTIONS = 256
/** How many pages may be open at once: each has an event stream. */
const MAX_STREAMS = 16
const REQUEST_TIMEOUT_MS = 60_000
const STATUS: Partial<Record<Fault['code'], number>> = { not_found: 404, bad_request: 400, unavailable: 503 }
const GATEWAY_PATH = /^\/gateways\/([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})\/(.+)$/
const DATA_PATH = /^console\/([a-z]{1,32})$/
const MCP_PATH = /^mcp(?:\/([a-z]{1,32}))?$/
const ASSET_PATH = /^\/console\/assets\/([\w.-]{1,100})$/

/** Throws a Fault `unavailable` if the port is taken. */
export async function serveConsole(options: ConsoleServerOptions): Promise<ConsoleServer> {
  const stopping = new AbortController()
  const answer = createAnswer(options, stopping.signal)
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answer(request, response).catch(error => fail(error, response, options.log))
  })
  server.maxConnections = MAX_CONNECTIONS
  await listen(server, HOST, options.port)
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      stopping.abort()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The function that answers all requests. It throws Faults, which `fail` answers. */
function createAnswer(options: ConsoleServerOptions, stopping: AbortSignal): Answer {
  const { page, view } = options
  let openStreams = 0
  const events = async (request: IncomingMessage, response: ServerResponse, requested: string | null) => {
    if (openStreams >= MAX_STREAMS)
      return sendError(response, 503, `${MAX_STREAMS} pages of this console are open: close one.`)
    const gateway = requested === null ? undefined : placeIn(requested)
    if (requested !== null && (!gateway || !view.hasGateway(gateway))) throw noGateway(requested)
    const { authorization } = request.headers
    const lastEventId = String(request.headers['last-event-id'] ?? '')
    openStreams++
    const forwarding = { ...options, gateway, authorization, lastEventId, headers: CONSOLE_HEADERS }
    await streamToPage(response, forwarding, stopping).finally(() => openStreams--)
  }
  return async (request, response) => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return sendError(response, 403, refusal)
    const url = URL.parse(request.url ?? '', 'http://console')
    if (!url) return sendError(response, 400, 'The target of the request is no URL.')
    const { pathname, searchParams } = url
    const asset = ASSET_PATH.exec(pathname)?.[1]
    if (request.method === 'GET' && (pathname === '/' || asset !== undefined))
      return sendFile(response, page, asset)
    if (request.method === 'GET' && pathname === '/console/events')
      return events(request, response, searchParams.get('gateway'))
    const [, namespace = '', name = '', rest = ''] = GATEWAY_PATH.exec(pathname) ?? []
    if (rest === '') return sendError(response, 404, 'Nothing is served here.')
    const gateway = { namespace, name }
    if (!view.hasGateway(gateway)) throw noGateway(`${namespace}/${name}`)
    const forwarding = { ...options, gateway, headers: CONSOLE_HEADERS }
    const [mcp, data] = [MCP_PATH.exec(rest), DATA_PATH.exec(rest)?.[1]]
    if (mcp && request.method === 'POST') return forwardMcp(request, response, mcp[1], forwarding)
    if (data !== undefined && data !== 'events' && (request.method === 'GET' || data === 'tokens'))
      return forwardData(request, response, data, searchParams, forwarding)
    return sendError(response, 404, 'Nothing is served here.')
  }
}

/** Why a request is refused: it comes from a page of another site, or for a host name that was made to resolve to this address (DNS rebinding). */
function refusalOf(request: IncomingMessage): string | undefined {
  if (!isLoopbackName(request.headers.host))
    return 'The console is reached by kubectl port-forward, as localhost or 127.0.0.1.'
  return request.method === 'POST' ? noActionOf(request) : foreignPage(request)
}

/** Sends a file of the page. An attribute marks it as the console of a cluster. */
function sendFile(response: ServerResponse, page: ConsolePage, name: string | undefined): void {
  const file = fileOf(page, name)
  if (!file) throw new Fault('not_found', 'There is no such file.')
  const text = name === undefined ? file.text.replace('<html ', '<html data-placement="cluster" ') : file.text
  response.writeHead(200, { ...CONSOLE_HEADERS, 'content-type': file.type, 'cache-control': file.cache })
  response.end(text)
}

/** Reads `<namespace>/<name>`. */
function placeIn(text: string): GatewayPlace | undefined {
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(text) ?? []
  return namespace === undefined || name === undefined ? undefined : { namespace, name }
}

function noGateway(requested: string): Fault {
  return new Fault(
    'not_found',
    `There is no McpGateway ${requested.slice(0, 320)} that this operator watches.`,
  )
}

function fail(error: unknown, response: ServerResponse, log: Log): void {
  if (response.headersSent) {
    response.destroy()
  } else if (error instanceof Fault) {
    sendError(response, STATUS[error.code] ?? 502, error.message)
  } else {
    log.error({ err: error }, 'a request of the console failed unexpectedly')
    sendError(response, 500, 'Internal error')
  }
}

function sendError(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, {
    ...CONSOLE_HEADERS,
    'content-type': 'application/json',
    'cache-control': 'no-store',
  })
  response.end(JSON.stringify({ error }))
}
