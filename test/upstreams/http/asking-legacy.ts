/** A server of SDK 1.x over HTTP or SSE that sends questions, log messages and resource updates, as servers of the 2025 era do. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  ResultSchema,
  RootsListChangedNotificationSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { LOG_LEVELS as LEVELS } from '../../../core/mcp/protocol/log-levels.ts'
import { type Kind, QUESTIONS } from '../asking/questions.ts'
import { createRequestLog, type RequestLog } from './log.ts'
import { readJson, type Served, serve } from './serve.ts'

export type AskingLegacy = Served & {
  url: string
  log: RequestLog
  /** `subscribe note://one`, `unsubscribe …`, `roots changed`, `answered <kind>`. */
  heard: RequestLog
  /** Sends resources/updated to all subscribed sessions, outside of a call. */
  touch(uri: string): Promise<void>
  /** Sends a question to the client of every session, outside of a call. Each answer adds `answered <kind>` to `heard`. */
  askAll(kind: Kind): void
  /** Sends a notification to every session, outside of a call. */
  say(method: 'notifications/message' | 'notifications/progress'): Promise<void>
  /** Ends all sessions and their streams, as a restart would. */
  breakOff(): Promise<void>
}

type Session = {
  server: Server
  transport: StreamableHTTPServerTransport | SSEServerTransport
  uris: Set<string>
}

export async function startAskingLegacy(
  kind: 'streamable-http' | 'sse',
  port?: number,
): Promise<AskingLegacy> {
  const sessions = new Map<string, Session>()
  const [log, heard] = [createRequestLog(), createRequestLog()]
  const handle = kind === 'sse' ? handleSse : handleStreamable
  const served = await serve(async (request, response) => {
    const body = request.method === 'POST' ? await readJson(request) : undefined
    const { method = '' } = (body ?? {}) as { method?: string }
    log.add(`${request.method} ${method}`.trim())
    await handle(sessions, heard, request, response, body)
  }, port)
  return {
    ...served,
    url: `${served.origin}/mcp`,
    log,
    heard,
    async touch(uri) {
      for (const { server, uris } of sessions.values())
        if (uris.has(uri)) await server.sendResourceUpdated({ uri })
    },
    askAll(kind) {
      for (const { server } of sessions.values())
        void server
          .request({ ...QUESTIONS[kind] } as never, ResultSchema)
          .then(() => heard.add(`answered ${kind}`))
    },
    async say(method) {
      const params = { level: 'error', data: 'said', progressToken: 7, progress: 1 }
      for (const { server } of sessions.values()) await server.notification({ method, params } as never)
    },
    breakOff: () => endAll(sessions),
    async close() {
      await endAll(sessions)
      await served.close()
    },
  }
}

async function endAll(sessions: Map<string, Session>): Promise<void> {
  const gone = [...sessions.values()]
  sessions.clear()
  for (const { server } of gone) await server.close()
}

type Handle = (
  sessions: Map<string, Session>,
  heard: RequestLog,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
) => Promise<void>

const handleStreamable: Handle = async (sessions, heard, request, response, body) => {
  const id = request.headers['mcp-session-id']
  const known = typeof id === 'string' ? sessions.get(id)?.transport : undefined
  if (known instanceof StreamableHTTPServerTransport) return known.handleRequest(request, response, body)
  if (id !== undefined) return void response.writeHead(404).end()
  const { server, uris } = createServer(heard)
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: session => void sessions.set(session, { server, transport, uris }),
  })
  await server.connect(transport)
  await transport.handleRequest(request, response, body)
}

const handleSse: Handle = async (sessions, heard, request, response, body) => {
  if (request.method === 'GET') {
    const { server, uris } = createServer(heard)
    const transport = new SSEServerTransport('/messages', response)
    sessions.set(transport.sessionId, { server, transport, uris })
    return server.connect(transport)
  }
  const id = new URL(request.url ?? '', 'http://localhost').searchParams.get('sessionId') ?? ''
  const known = sessions.get(id)?.transport
  if (known instanceof SSEServerTransport) return known.handlePostMessage(request, response, body)
  response.writeHead(404).end()
}

/** Tools: `ask` (kinds; with `outside`, not on the stream of the call), `declared`, `log`, `echo` (returns its params and headers). */
function createServer(heard: RequestLog): { server: Server; uris: Set<string> } {
  const uris = new Set<string>()
  let least = 'error'
  const capabilities = { tools: {}, resources: { subscribe: true }, logging: {} }
  const server = new Server({ name: 'asking', version: '1.0.0' }, { capabilities })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }))
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    if (uri === 'note://none') throw new Error('No such note')
    uris.add(uri)
    heard.add(`subscribe ${uri}`)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    uris.delete(uri)
    heard.add(`unsubscribe ${uri}`)
    return {}
  })
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    least = params.level
    return {}
  })
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => heard.add('roots changed'))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { kinds, outside } = (params.arguments ?? {}) as { kinds?: string; outside?: boolean }
    const ask = (kind: Kind) => {
      const request = { ...QUESTIONS[kind] } as never
      const options = { signal: extra.signal, timeout: 60_000 }
      const asked = outside
        ? server.request(request, ResultSchema, options)
        : extra.sendRequest(request, ResultSchema, options)
      return asked.catch((error: Error) => ({ failed: error.message }))
    }
    switch (params.name) {
      case 'ask':
        return say(await Promise.all((kinds?.split(' ') ?? []).map(kind => ask(kind as Kind))))
      case 'declared':
        return say(server.getClientCapabilities() ?? {})
      case 'log':
        for (const level of ['debug', 'error'] as const)
          if (LEVELS.indexOf(level) >= LEVELS.indexOf(least))
            await extra.sendNotification({ method: 'notifications/message', params: { level, data: level } })
        return say('logged')
      default:
        return say({ ...params, headers: extra.requestInfo?.headers })
    }
  })
  return { server, uris }
}

function say(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] }
}
