/** What a bridge answers by HTTP: /mcp for those with the token, /healthz and /readyz for everybody. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../core/log.ts'
import { createEndpoint, type Endpoint } from '../core/mcp/front/endpoint.ts'
import { writeText } from '../core/mcp/front/exchange.ts'
import type { McpHandler, McpRoute } from '../core/mcp/front/handler.ts'
import { headerOf } from '../core/mcp/front/headers.ts'
import { InFlight } from '../core/mcp/front/in-flight.ts'
import { INVALID_REQUEST, SESSION_NOT_FOUND, TRANSPORT_ERROR } from '../core/mcp/front/rejection.ts'
import { errorText } from '../core/mcp/front/reply.ts'
import { tellsOfChanges } from '../core/mcp/http/listen.ts'
import type { Children } from './children.ts'
import { MAX_STREAMS, type Streams } from './streams.ts'

export type SiteOptions = {
  /** The server's name. */
  server: string
  sessions: 'shared' | 'perClient'
  handler: McpHandler
  children: Children
  streams: Streams
  /** Whether the Authorization header lets the caller in; absent: everybody is. */
  admits?: (authorization: string | undefined) => boolean
  log: Log
}

export const MAX_BODY_BYTES = 4 * 1024 * 1024
/** More calls than this wait nowhere: their callers are told. */
const MAX_CALLS = 512
const SOON = ['retry-after', '1']

export class Site {
  readonly inFlight = new InFlight()
  /** Every answer ends its connection, so that callers go elsewhere. */
  draining = false
  readonly #options: SiteOptions
  readonly #endpoint: Endpoint
  readonly #route: McpRoute

  constructor(options: SiteOptions) {
    const { handler, children, log, server } = options
    this.#options = options
    this.#route = { kind: 'server', server }
    this.#endpoint = createEndpoint({ handler, sessions: children.sessions, inFlight: this.inFlight, log })
  }

  /** Answers one request. Never throws. */
  receive(request: IncomingMessage, raw: ServerResponse): void {
    if (this.draining) raw.shouldKeepAlive = false
    const path = request.url?.split('?', 1)[0]
    if (path === '/mcp') this.#receiveMcp(request, raw)
    else if (path === '/healthz') writeText(raw, 200, '{"status":"ok"}')
    else if (path === '/readyz') this.#tellReadiness(raw)
    else refuse(raw, { status: 404, message: 'Nothing is served here; MCP is at /mcp' })
  }

  #tellReadiness(raw: ServerResponse): void {
    if (this.draining) writeText(raw, 503, '{"ready":false,"reason":"draining"}')
    else if (this.#options.children.ready) writeText(raw, 200, '{"ready":true}')
    else writeText(raw, 503, '{"ready":false,"reason":"no child is up"}')
  }

  #receiveMcp(request: IncomingMessage, raw: ServerResponse): void {
    const { headers, method } = request
    const refusal = this.#refusal(request) ?? (method === 'GET' ? this.#refusalToListen(headers) : undefined)
    if (refusal) refuse(raw, refusal)
    else if (method === 'GET') this.#options.streams.open(raw, this.#clientOf(headers))
    else if (method === 'DELETE') this.#endpoint.remove(headers, raw)
    else readBody(request, raw, body => this.#endpoint.post(this.#route, headers, body, raw))
  }

  #refusal({ headers, method }: IncomingMessage): Refusal | undefined {
    const { admits, children } = this.#options
    if (headers.origin !== undefined) return { status: 403, message: 'This endpoint is not for web pages' }
    if (admits && !admits(headers.authorization))
      return {
        status: 401,
        message: 'The bearer token is missing or wrong',
        headers: ['www-authenticate', 'Bearer'],
      }
    if (method !== 'POST' && method !== 'GET' && method !== 'DELETE')
      return { status: 405, message: 'Method not allowed', headers: ['allow', 'POST, GET, DELETE'] }
    if (!children.info) return { status: 503, message: 'The server is still starting', headers: SOON }
    if (method === 'POST' && this.inFlight.size >= MAX_CALLS)
      return { status: 503, message: `All ${MAX_CALLS} places for calls are taken`, headers: SOON }
    return undefined
  }

  #refusalToListen(headers: IncomingHttpHeaders): Refusal | undefined {
    const { children, streams, sessions } = this.#options
    if (!headers.accept?.includes('text/event-stream'))
      return { status: 406, message: 'Not Acceptable: Client must accept text/event-stream' }
    if (headerOf(headers, 'mcp-session-id') === undefined) {
      if (sessions === 'perClient')
        return { status: 400, message: 'Mcp-Session-Id header is required', code: INVALID_REQUEST }
      if (!tellsOfChanges(children.info?.capabilities ?? {}))
        return { status: 405, message: 'Nothing is told between calls here', headers: ['allow', 'POST'] }
    } else if (this.#clientOf(headers) === undefined)
      return { status: 404, message: 'Session not found; initialize again', code: SESSION_NOT_FOUND }
    if (streams.full || this.draining)
      return { status: 503, message: `All ${MAX_STREAMS} event streams are taken`, headers: SOON }
    return undefined
  }

  #clientOf(headers: IncomingHttpHeaders): string | undefined {
    const session = headerOf(headers, 'mcp-session-id')
    return session === undefined ? undefined : this.#options.children.sessions.find(session)?.client
  }
}

type Refusal = { status: number; message: string; headers?: readonly string[]; code?: number }

function refuse(raw: ServerResponse, { status, message, headers, code = TRANSPORT_ERROR }: Refusal): void {
  writeText(raw, status, errorText(null, { code, message }), headers)
}

/** Hands over a whole body; one that is too large is refused without being kept. */
function readBody(request: IncomingMessage, raw: ServerResponse, done: (body: string) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk)
    else if (!raw.headersSent) {
      chunks.length = 0
      raw.shouldKeepAlive = false
      refuse(raw, { status: 413, message: `Payload too large: at most ${MAX_BODY_BYTES} bytes` })
    }
  })
  request.on('end', () => {
    if (bytes > MAX_BODY_BYTES) return
    const [first] = chunks
    done(chunks.length === 1 && first ? first.toString() : Buffer.concat(chunks).toString())
  })
}
