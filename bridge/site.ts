/** The HTTP routes of a bridge: /mcp with authentication, /healthz and /readyz without. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../core/log.ts'
import { ANONYMOUS, type Identity } from '../core/mcp/identity.ts'
import { CALLER_HEADER } from '../core/mcp/protocol/caller-header.ts'
import { CLOSING_HEADER } from '../core/mcp/protocol/closing-header.ts'
import { TRANSPORT_ERROR } from '../core/mcp/protocol/error-codes.ts'
import { INSTANCE_HEADER } from '../core/mcp/protocol/instance-header.ts'
import { createBodies } from '../core/mcp/server/bodies.ts'
import type { FrontClients } from '../core/mcp/server/clients.ts'
import type { ConnectionRoom } from '../core/mcp/server/connection-room.ts'
import { createEndpoint, type Endpoint } from '../core/mcp/server/endpoint.ts'
import type { McpHandler, McpRoute } from '../core/mcp/server/handler.ts'
import { headerOf, type RequestHeaders } from '../core/mcp/server/headers.ts'
import { InFlight } from '../core/mcp/server/in-flight.ts'
import { writeText } from '../core/mcp/server/post-response.ts'
import { errorText } from '../core/mcp/server/reply.ts'
import type { Children } from './children.ts'

export type SiteOptions = {
  /** The server's name. */
  server: string
  sessions: 'shared' | 'perClient'
  handler: McpHandler
  children: Children
  clients: FrontClients
  /** Whether the Authorization header is accepted; absent: no authentication. */
  admits?: (authorization: string | undefined) => boolean
  /** As in BridgeOptions. */
  instance?: string
  room: ConnectionRoom
  log: Log
}

/** Maximum number of calls in flight; more are refused with 503. */
const MAX_CALLS = 512
const RETRY_AFTER_1S = ['retry-after', '1']

/** Answers the requests to a bridge's HTTP server. */
export class Site {
  readonly inFlight = new InFlight()
  readonly #bodies = createBodies()
  #draining = false
  #closing = false
  readonly #options: SiteOptions
  readonly #endpoint: Endpoint
  readonly #route: McpRoute

  constructor(options: SiteOptions) {
    const { handler, children, clients, log, server, sessions } = options
    this.#options = options
    this.#route = { kind: 'server', server }
    this.#endpoint = createEndpoint({
      handler,
      sessions: children.sessions,
      inFlight: this.inFlight,
      log,
      clients,
      openToAll: sessions === 'shared',
    })
  }

  /** Closes the connection after every further response, so that callers use another pod, and ends all listening streams. */
  drain(): void {
    this.#draining = true
    this.#endpoint.end()
  }

  /** Refuses all further requests with an error that tells callers to send them to another pod. */
  startRefusing(): void {
    this.#closing = true
  }

  /** Answers one request. Never throws. */
  receive(request: IncomingMessage, raw: ServerResponse): void {
    if (this.#draining) raw.shouldKeepAlive = false
    const path = request.url?.split('?', 1)[0]
    if (path === '/mcp') this.#receiveMcp(request, raw)
    else if (path === '/healthz') writeText(raw, 200, '{"status":"ok"}')
    else if (path === '/readyz') this.#answerReadiness(raw)
    else writeRefusal(raw, { status: 404, message: 'Not found; the MCP endpoint is /mcp' })
  }

  #answerReadiness(raw: ServerResponse): void {
    if (this.#draining) writeText(raw, 503, '{"ready":false,"reason":"draining"}')
    else if (this.#options.children.ready) writeText(raw, 200, '{"ready":true}')
    else writeText(raw, 503, '{"ready":false,"reason":"no child is up"}')
  }

  #receiveMcp(request: IncomingMessage, raw: ServerResponse): void {
    const { headers, method } = request
    const refusal = this.#refusal(request)
    if (refusal) {
      writeRefusal(raw, refusal)
      return
    }
    this.#options.room.admitted(raw)
    if (method === 'GET') this.#endpoint.get(this.#route, headers, ANONYMOUS, raw)
    else if (method === 'DELETE') this.#endpoint.remove(headers, ANONYMOUS, raw)
    else {
      const identity = this.#identityOf(headers)
      this.#bodies.read(request, raw, body => this.#endpoint.post(this.#route, headers, body, identity, raw))
    }
  }

  /** With a shared child, callers are distinguished by the id that the router sends in a header; otherwise by their sessions. */
  #identityOf(headers: RequestHeaders): Identity {
    const id = this.#options.sessions === 'shared' ? headerOf(headers, CALLER_HEADER) : undefined
    return id === undefined ? ANONYMOUS : { ...ANONYMOUS, id }
  }

  #refusal({ headers, method }: IncomingMessage): Refusal | undefined {
    const { admits, children, instance } = this.#options
    if (this.#closing)
      return { status: 503, message: 'The server is shutting down', headers: [CLOSING_HEADER, 'true'] }
    if (headers.origin !== undefined) return { status: 403, message: 'This endpoint is not for web pages' }
    if (admits && !admits(headers.authorization))
      return {
        status: 401,
        message: 'The bearer token is missing or wrong',
        headers: ['www-authenticate', 'Bearer'],
      }
    // This pod is from an older revision or serves another user: the router tries again.
    if (instance !== undefined && headerOf(headers, INSTANCE_HEADER) !== instance)
      return {
        status: 503,
        message: 'This pod serves another user or an older revision',
        headers: [CLOSING_HEADER, 'true'],
      }
    if (method !== 'POST' && method !== 'GET' && method !== 'DELETE')
      return { status: 405, message: 'Method not allowed', headers: ['allow', 'POST, GET, DELETE'] }
    if (!children.info)
      return { status: 503, message: 'The server is still starting', headers: RETRY_AFTER_1S }
    if (method === 'POST' && this.inFlight.size >= MAX_CALLS)
      return {
        status: 503,
        message: `The limit of ${MAX_CALLS} concurrent calls is reached`,
        headers: RETRY_AFTER_1S,
      }
    return undefined
  }
}

type Refusal = { status: number; message: string; headers?: readonly string[] }

function writeRefusal(raw: ServerResponse, { status, message, headers }: Refusal): void {
  writeText(raw, status, errorText(null, { code: TRANSPORT_ERROR, message }), headers)
}
