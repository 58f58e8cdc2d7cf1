/** An MCP endpoint: what arrives by POST or DELETE on a route is read by the front, handled, and answered. */
import type { ServerResponse } from 'node:http'
import type { Log } from '../../log.ts'
import type { Notification } from '../upstream.ts'
import { type Answer, answer, type Call } from './answer.ts'
import { writeText } from './exchange.ts'
import type { McpHandler, McpRoute } from './handler.ts'
import { checkMediaTypes, headerOf, type RequestHeaders } from './headers.ts'
import type { InFlight } from './in-flight.ts'
import { type InboundBatch, type InboundNotification, type InboundRequest, readMessage } from './message.ts'
import { checkParamHeaders } from './param-headers.ts'
import {
  INTERNAL_ERROR,
  INVALID_REQUEST,
  PARSE_ERROR,
  type Rejected,
  reject,
  SESSION_NOT_FOUND,
} from './rejection.ts'
import { errorText, idText } from './reply.ts'
import type { Sessions } from './session.ts'

export type Endpoint = {
  /** Answers a POST, whose body is given as text, on `raw`. */
  post(route: McpRoute, headers: RequestHeaders, body: string | undefined, raw: ServerResponse): void
  /** Ends the session that the headers name. */
  remove(headers: RequestHeaders, raw: ServerResponse): void
}

export type EndpointOptions = { handler: McpHandler; sessions: Sessions; inFlight: InFlight; log: Log }

export function createEndpoint(options: EndpointOptions): Endpoint {
  return {
    post(route, headers, body, raw) {
      try {
        const refused = checkMediaTypes(headers) ?? receive(options, route, headers, body, raw)
        if (refused) refuse(raw, refused)
      } catch (error) {
        options.log.error({ err: error }, 'request failed unexpectedly')
        refuse(raw, reject(500, null, INTERNAL_ERROR, 'Internal error'))
      }
    },
    remove(headers, raw) {
      const id = headerOf(headers, 'mcp-session-id')
      if (id === undefined)
        return refuse(raw, reject(400, null, INVALID_REQUEST, 'Mcp-Session-Id header is required'))
      const client = options.sessions.find(id)?.client
      if (client === undefined) return refuse(raw, unknownSession())
      options.sessions.end(id)
      options.handler.forget?.(client)
      writeText(raw, 204, undefined)
    },
  }
}

function refuse(raw: ServerResponse, { status, id, error }: Rejected): void {
  writeText(raw, status, errorText(id, error))
}

function unknownSession(): Rejected {
  return reject(404, null, SESSION_NOT_FOUND, 'Session not found; initialize again')
}

/** Returns the refusal where the body is none that can be handled; everything else answers for itself. */
function receive(
  options: EndpointOptions,
  route: McpRoute,
  headers: RequestHeaders,
  body: string | undefined,
  raw: ServerResponse,
): Rejected | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(body ?? '')
  } catch {
    return reject(400, null, PARSE_ERROR, 'Parse error: the request body is not valid JSON')
  }
  const message = readMessage(headers, parsed)
  if (message.kind === 'rejected') return message
  const session = headerOf(headers, 'mcp-session-id')
  let client: string | undefined
  if (session !== undefined && !isSessionless(message)) {
    client = options.sessions.find(session)?.client
    if (client === undefined) return unknownSession()
  }
  switch (message.kind) {
    case 'request': {
      const refused =
        message.era === 'modern' ? checkParams(options.handler, route, headers, message) : undefined
      if (refused) return refused
      void exchangeOne(options, route, client, message, raw)
      return undefined
    }
    case 'batch':
      void exchangeBatch(options, route, client, message, raw)
      return undefined
    case 'notification':
      hear(options, client, message)
      writeText(raw, 202, undefined)
      return undefined
    case 'response':
      if (client !== undefined) options.handler.tell?.(client, message.message as unknown as Notification)
      writeText(raw, 202, undefined)
      return undefined
  }
}

/** The newer era knows no sessions, and initialize begins one. */
function isSessionless(message: { kind: string; era?: string; method?: string }): boolean {
  return message.era === 'modern' || (message.kind === 'request' && message.method === 'initialize')
}

function checkParams(
  handler: McpHandler,
  route: McpRoute,
  headers: RequestHeaders,
  { method, params, id }: InboundRequest,
): Rejected | undefined {
  if (method !== 'tools/call' || typeof params.name !== 'string') return undefined
  const schema = handler.inputSchema?.(route, params.name)
  return schema && checkParamHeaders(headers, id, schema, params.arguments)
}

function hear(
  { inFlight, handler }: EndpointOptions,
  client: string | undefined,
  { method, params }: InboundNotification,
): void {
  if (client === undefined) return
  const id = params.requestId
  if (method !== 'notifications/cancelled') handler.tell?.(client, { method, params })
  else if (typeof id === 'string' || typeof id === 'number') inFlight.cancel(keyOf(client, id))
}

function keyOf(client: string, id: string | number): string {
  return `${client} ${idText(id)}`
}

async function exchangeOne(
  options: EndpointOptions,
  route: McpRoute,
  client: string | undefined,
  message: InboundRequest,
  raw: ServerResponse,
): Promise<void> {
  const starts = message.era === 'legacy' && message.method === 'initialize'
  const key = client === undefined ? undefined : keyOf(client, message.id)
  const session = starts ? options.sessions.issue(message.params) : undefined
  const headers = session === undefined ? undefined : ['mcp-session-id', session]
  const exchange = options.inFlight.open(raw, key, headers)
  const call: Call = {
    route,
    client,
    signal: exchange.signal,
    notify: notification => exchange.notify(notification),
    beat: () => exchange.beat(),
  }
  const { status, text } = await answer(options, call, message)
  exchange.end(status, text)
}

/** All requests of a batch side by side; one answer with as many entries, or none where nothing was asked. */
async function exchangeBatch(
  options: EndpointOptions,
  route: McpRoute,
  client: string | undefined,
  { messages }: InboundBatch,
  raw: ServerResponse,
): Promise<void> {
  const exchange = options.inFlight.open(raw, undefined)
  const answers: Promise<Answer>[] = []
  for (const message of messages) {
    if (message.kind === 'request') {
      answers.push(answer(options, { route, client, signal: exchange.signal }, message))
    } else if (message.kind === 'notification') hear(options, client, message)
  }
  const texts = (await Promise.all(answers)).map(({ text }) => text)
  if (texts.length === 0) exchange.end(202, undefined)
  else exchange.end(200, `[${texts.join(',')}]`)
}
