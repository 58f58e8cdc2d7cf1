/** An MCP endpoint: validates, handles and answers the POST, GET and DELETE requests of a route. */
import type { ServerResponse } from 'node:http'
import { Fault } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Identity } from '../identity.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR } from '../protocol/error-codes.ts'
import { answer } from './answer.ts'
import { callerOf } from './callers.ts'
import { checkParamHeaders } from './check-param-headers.ts'
import { createClients, type FrontClients } from './clients.ts'
import { type ForwardedHeaders, forwardedHeaders, isRejected } from './forwarded-headers.ts'
import type { McpHandler, McpRequest, McpRoute } from './handler.ts'
import { checkMediaTypes, headerOf, type RequestHeaders } from './headers.ts'
import type { InFlight } from './in-flight.ts'
import { openStream } from './open-stream.ts'
import { type PostResponse, writeText } from './post-response.ts'
import {
  checkWithoutBody,
  type InboundBatch,
  type InboundNotification,
  type InboundRequest,
  type InboundResponse,
  readMessage,
} from './read-message.ts'
import { type Rejected, reject, rejectUnknownSession } from './rejection.ts'
import { errorText, idText } from './reply.ts'
import type { ClientSession, Sessions } from './session-ids.ts'
import { batchWithinRoom, withinRoom } from './unsent-answers.ts'

export type Endpoint = {
  /** Answers a POST with this body on `raw`. */
  post(
    route: McpRoute,
    headers: RequestHeaders,
    body: string | undefined,
    identity: Identity,
    raw: ServerResponse,
  ): void
  /** Answers a GET with an event stream for the session that the headers name. */
  get(route: McpRoute, headers: RequestHeaders, identity: Identity, raw: ServerResponse): void
  /** Ends the session that the headers name. */
  remove(headers: RequestHeaders, identity: Identity, raw: ServerResponse): void
  /** Begins the shutdown: ends GET streams, listeners and held calls, which could last without limit. Idempotent. */
  end(): void
}

export type EndpointOptions = {
  handler: McpHandler
  sessions: Sessions
  inFlight: InFlight
  log: Log
  /** Required if others notify clients between their requests, or replicas share a key. */
  clients?: FrontClients
  /** Whether callers without a session may open a GET stream for changes of lists. Default false. */
  openToAll?: boolean
  /** Status and headers of the answer to a caller that lacks these scopes. Absent: there are no scopes. */
  challenge?: (raw: ServerResponse, identity: Identity, scopes: readonly string[]) => Challenge
  /** Called with a notifications/cancelled for a request unknown here: another replica may have it. */
  onStrayCancel?: (route: McpRoute, headers: RequestHeaders, body: string) => void
}

/** `headers`: names and values in turn. */
export type Challenge = { status: number; headers: readonly string[] }

type Options = EndpointOptions & { clients: FrontClients }

/** One POST, with the session it names. */
type Post = {
  route: McpRoute
  headers: RequestHeaders
  body: string
  identity: Identity
  raw: ServerResponse
  session?: ClientSession
  forwarded?: ForwardedHeaders
}

export function createEndpoint(given: EndpointOptions): Endpoint {
  const options: Options = { ...given, clients: given.clients ?? createClients() }
  const { clients, log } = options
  const answering = (raw: ServerResponse, run: () => Rejected | undefined) => {
    try {
      const refused = run()
      if (refused) refuse(raw, refused)
    } catch (error) {
      fail(log, raw, error)
    }
  }
  return {
    post: (route, headers, body = '', identity, raw) =>
      answering(
        raw,
        () => checkMediaTypes(headers) ?? receive(options, { route, headers, body, identity, raw }),
      ),
    get: (route, headers, identity, raw) =>
      answering(raw, () => openStream(options, route, headers, identity, raw)),
    remove: (headers, identity, raw) => answering(raw, () => endSession(options, headers, identity, raw)),
    end: () => clients.endAll(),
  }
}

function refuse(raw: ServerResponse, { status, id, error, headers }: Rejected): void {
  writeText(raw, status, errorText(id, error), headers)
}

/** Answers a request that failed unexpectedly; if the answer has begun, closes the connection. */
function fail(log: Log, raw: ServerResponse, error: unknown): void {
  log.error({ err: error }, 'request failed unexpectedly')
  if (raw.headersSent) raw.destroy()
  else refuse(raw, reject(500, null, INTERNAL_ERROR, 'Internal error'))
}

function endSession(
  { sessions, clients, handler, inFlight }: Options,
  headers: RequestHeaders,
  identity: Identity,
  raw: ServerResponse,
): Rejected | undefined {
  const unserved = checkWithoutBody(headers)
  if (unserved) return unserved
  const id = headerOf(headers, 'mcp-session-id')
  if (id === undefined) return reject(400, null, INVALID_REQUEST, 'Mcp-Session-Id header is required')
  const client = sessions.find(id, identity.id)?.client
  if (client === undefined) return rejectUnknownSession()
  sessions.end(id)
  clients.end(client)
  inFlight.abortOf(client, new Fault('cancelled', 'The client ended its session.'))
  handler.forget?.(client)
  writeText(raw, 204, undefined)
  return undefined
}

/** Returns a refusal if the body is invalid; otherwise the response is sent, now or later. */
function receive(options: Options, post: Post): Rejected | undefined {
  const { headers, body, raw } = post
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return reject(400, null, PARSE_ERROR, 'Parse error: the request body is not valid JSON')
  }
  const message = readMessage(headers, parsed)
  if (message.kind === 'rejected') return message
  const id = headerOf(headers, 'mcp-session-id')
  if (id !== undefined && !isSessionless(message)) {
    post.session = options.sessions.find(id, post.identity.id)
    if (!post.session) return rejectUnknownSession()
    options.clients.subscriptions.renew(post.session.client, post.identity)
  }
  switch (message.kind) {
    case 'request':
      return receiveRequest(options, post, message)
    case 'batch':
      answerBatch(options, post, message).catch(error => fail(options.log, raw, error))
      return undefined
    case 'notification':
      receiveNotification(options, post, message)
      writeText(raw, 202, undefined)
      return undefined
    case 'response':
      return receiveResponse(options, post, message)
  }
}

/** The 2026 era has no sessions, and `initialize` begins one. */
function isSessionless(message: { kind: string; era?: string; method?: string }): boolean {
  return message.era === 'modern' || (message.kind === 'request' && message.method === 'initialize')
}

function receiveRequest(options: Options, post: Post, message: InboundRequest): Rejected | undefined {
  const forwarded = forwardedHeaders(post.headers)
  if (forwarded) {
    if (isRejected(forwarded)) return { ...forwarded, id: message.id }
    post.forwarded = forwarded
  }
  const refused = message.era === 'modern' ? checkParams(options.handler, post, message) : undefined
  if (!refused) answerRequest(options, post, message)
  return refused
}

function checkParams(
  handler: McpHandler,
  { route, headers, identity }: Post,
  { method, params, id }: InboundRequest,
): Rejected | undefined {
  if (method !== 'tools/call' || typeof params.name !== 'string') return undefined
  const schema = handler.inputSchema?.(route, params.name, identity)
  return schema && checkParamHeaders(headers, id, schema, params.arguments)
}

function receiveNotification(
  { inFlight, handler, onStrayCancel }: Options,
  { route, session, headers, body }: Post,
  { method, params }: InboundNotification,
): void {
  // The handshake ends here; the upstream has its own.
  if (!session || method === 'notifications/initialized') return
  const { client } = session
  const id = params.requestId
  if (method !== 'notifications/cancelled') handler.tell?.(client, { method, params })
  else if (typeof id !== 'string' && typeof id !== 'number') return
  else if (!inFlight.cancel(keyOf(client, id))) onStrayCancel?.(route, headers, body)
}

function keyOf(client: string, id: string | number): string {
  return `${client} ${idText(id)}`
}

/** Handles the answer to a question. One that is late, or from another client, is accepted and ignored. */
function receiveResponse(
  { clients: { asks } }: Options,
  { session, raw }: Post,
  { message }: InboundResponse,
): Rejected | undefined {
  if (!asks.isOurs(message.id)) {
    const why =
      'The replica that asked the question is gone, and so is the call that waited for the answer; call the tool again.'
    return reject(400, null, INVALID_PARAMS, why)
  }
  asks.answer(session?.client, message)
  writeText(raw, 202, undefined)
  return undefined
}

function answerRequest(options: Options, post: Post, message: InboundRequest): void {
  const { raw, session } = post
  const starts = message.era === 'legacy' && message.method === 'initialize'
  const key = session && keyOf(session.client, message.id)
  const id = starts ? options.sessions.issue(message.params, post.identity.id) : undefined
  const head = id === undefined ? undefined : ['mcp-session-id', id]
  const response = options.inFlight.open(raw, key, head)
  const request = requestOf(options, post, message, response, post.body)
  void answer(options, request, response).then(({ status, text, scopes }) => {
    const challenge = scopes && options.challenge?.(raw, post.identity, scopes)
    const sent = withinRoom(options.inFlight.unsent, raw, message.id, text)
    response.end(challenge?.status ?? status, sent, challenge?.headers)
  })
}

/** `text`: the body, if it holds only this message. */
function requestOf(
  { clients }: Options,
  { route, session, forwarded, identity, headers }: Post,
  message: InboundRequest,
  response: PostResponse,
  text: string | undefined,
): McpRequest {
  const { id, method, params } = message
  const authorization = headerOf(headers, 'authorization')
  const caller = callerOf(clients, message, session, forwarded, identity, authorization, response)
  return { id, method, params, route, caller, text }
}

/** Handles all requests of a batch concurrently. The key contains no request id, so a single request cannot be cancelled. */
async function answerBatch(options: Options, post: Post, { messages }: InboundBatch): Promise<void> {
  const { inFlight, clients } = options
  const { raw, session } = post
  const response = inFlight.open(raw, session && `${session.client} batch`)
  const answers: Promise<string>[] = []
  const bounded = batchWithinRoom(inFlight.unsent, raw)
  for (const message of messages) {
    if (message.kind === 'request') {
      const request = requestOf(options, post, message, response, undefined)
      answers.push(answer(options, request, response).then(({ text }) => bounded(message.id, text)))
    } else if (message.kind === 'response') clients.asks.answer(session?.client, message.message)
    else receiveInBatch(options, post, message)
  }
  response.endBatch(await Promise.all(answers))
}

/** Handles a notification of a batch. Never throws: the requests of the batch have to be answered. */
function receiveInBatch(options: Options, post: Post, message: InboundNotification): void {
  try {
    receiveNotification({ ...options, onStrayCancel: undefined }, post, message)
  } catch (error) {
    options.log.error({ err: error, method: message.method }, 'notification failed unexpectedly')
  }
}
