/** Real servers of SDK 1.x over HTTP: stateful, stateless and legacy SSE. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createRequestLog } from './log.ts'
import { createSdk1McpServer } from './sdk1-tools.ts'
import { readJson, serve } from './serve.ts'

export type Sdk1Mode = 'stateful' | 'stateless' | 'sse'

export type Sdk1Options = {
  /** Answer as JSON instead of event streams. */
  json?: boolean
  port?: number
  /** Default: 127.0.0.1. */
  host?: string
  /** Which bearer tokens are accepted. Default: requests need no token. */
  accepts?: (token: string) => boolean
  /** The server that issues these tokens, named in protected resource metadata (RFC 9728). */
  authorizationServer?: string
}

export type Sdk1Server = {
  url: string
  port: number
  log: string[]
  logged(start: string): Promise<void>
  /** Forgets all sessions, as after a restart: their next request gets a 404. */
  forget(): void
  /** Adds a tool to every session, which sends tools/list_changed. */
  addTool(name: string): void
  /** Closes the streams of the mode `sse`. */
  breakStreams(): void
  close(): Promise<void>
}

/** Not the well-known path, so that clients must read it from the WWW-Authenticate header of a 401. */
const METADATA_PATH = '/protected-resource'

type Session = { server: McpServer; transport: StreamableHTTPServerTransport | SSEServerTransport }
type Sessions = Map<string, Session>

export async function startSdk1(mode: Sdk1Mode, options: Sdk1Options = {}): Promise<Sdk1Server> {
  const sessions: Sessions = new Map()
  const log = createRequestLog()
  const served = await serve(
    async (request, response) => {
      if (request.url === METADATA_PATH) return sendMetadata(request, response, options)
      const body = request.method === 'POST' ? await readJson(request) : undefined
      const { method = '' } = (body ?? {}) as { method?: string }
      log.add(`${request.method} ${method}`.trim())
      const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
      if (options.accepts?.(token) === false) {
        const metadata = `http://${request.headers.host}${METADATA_PATH}`
        response.setHeader('www-authenticate', `Bearer resource_metadata="${metadata}", scope="tools:read"`)
        refuse(response, 401)
      } else if (mode === 'sse') await handleSse(sessions, request, response, body)
      else await handleStreamable(sessions, mode, options, request, response, body)
    },
    options.port,
    options.host,
  )
  const closeSessions = () => Promise.all([...sessions.values()].map(({ transport }) => transport.close()))
  return {
    url: `${served.origin}/mcp`,
    port: served.port,
    log: log.entries,
    logged: log.logged,
    forget: () => sessions.clear(),
    addTool(name) {
      for (const { server } of sessions.values()) server.registerTool(name, {}, () => ({ content: [] }))
    },
    breakStreams: () => void closeSessions(),
    async close() {
      await closeSessions()
      await served.close()
    },
  }
}

async function handleStreamable(
  sessions: Sessions,
  mode: Sdk1Mode,
  options: Sdk1Options,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  const id = request.headers['mcp-session-id']
  const known = typeof id === 'string' ? sessions.get(id)?.transport : undefined
  if (known instanceof StreamableHTTPServerTransport) return known.handleRequest(request, response, body)
  if (id !== undefined) return refuse(response, 404)
  if (mode === 'stateless' && request.method !== 'POST') return refuse(response, 405)
  const server = createSdk1McpServer()
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: mode === 'stateful' ? randomUUID : undefined,
    enableJsonResponse: options.json === true,
    onsessioninitialized: session => void sessions.set(session, { server, transport }),
  })
  await server.connect(transport)
  await transport.handleRequest(request, response, body)
}

async function handleSse(
  sessions: Sessions,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) {
  if (request.method === 'GET') {
    const server = createSdk1McpServer()
    const transport = new SSEServerTransport('/messages', response)
    sessions.set(transport.sessionId, { server, transport })
    return server.connect(transport)
  }
  const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? ''
  const known = sessions.get(id)?.transport
  if (known instanceof SSEServerTransport) return known.handlePostMessage(request, response, body)
  refuse(response, 404)
}

function sendMetadata(request: IncomingMessage, response: ServerResponse, options: Sdk1Options) {
  if (options.authorizationServer === undefined) return refuse(response, 404)
  const resource = `http://${request.headers.host}/mcp`
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ resource, authorization_servers: [options.authorizationServer] }))
}

function refuse(response: ServerResponse, status: number): void {
  const error = { code: -32001, message: status === 404 ? 'Session not found' : 'Refused' }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }))
}
