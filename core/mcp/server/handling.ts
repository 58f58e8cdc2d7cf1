/** Hands a checked request to the handler, so that its caller can be told and asked in the way of its era. */

import type { JsonObject } from '../../json.ts'
import { isQuestion, missingCapabilities, unaskable } from '../protocol/capabilities.ts'
import type { McpResponse, Notification } from '../protocol/json-rpc.ts'
import { isWanted } from '../protocol/log-levels.ts'
import { wantsInput } from '../protocol/message.ts'
import type { Ask } from '../upstream.ts'
import type { ClientLabel } from './client-label.ts'
import type { FrontClients } from './clients.ts'
import type { McpHandler, McpRequest, McpRoute } from './handler.ts'
import { goThroughRounds } from './input-rounds.ts'
import type { PostResponse } from './post-response.ts'
import type { InboundRequest } from './read-message.ts'
import { afterPages } from './url-elicitation.ts'

/** Who asks, and how to reach them. */
export type Call = {
  route: McpRoute
  /** The client of the session. */
  client?: string
  /** What the client declared for its session. */
  capabilities?: JsonObject
  /** How logs name that client. */
  label?: ClientLabel
  /** As in McpRequest. */
  headers?: Readonly<Record<string, string>>
  text?: string
  signal: AbortSignal
  response: PostResponse
}

const ASKING_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Whether the answer to such a request may be a question, in the newer era. */
export function canBeAsked(method: string): boolean {
  return ASKING_METHODS.has(method)
}

export function handle(
  handler: McpHandler,
  clients: FrontClients,
  call: Call,
  message: InboundRequest,
): Promise<McpResponse> | McpResponse {
  return message.era === 'legacy'
    ? handleLegacy(handler, clients, call, message)
    : handleModern(handler, clients, call, message)
}

async function handleLegacy(
  handler: McpHandler,
  clients: FrontClients,
  call: Call,
  { method, params }: InboundRequest,
): Promise<McpResponse> {
  const { route, client, capabilities, label, headers, text, signal, response } = call
  const logLevel = client === undefined ? undefined : clients.levels.get(client)
  const tell = (notification: Notification) => response.notify(notification)
  const request: McpRequest = {
    method,
    params,
    route,
    era: 'legacy',
    client,
    label,
    capabilities,
    logLevel,
    headers,
    text,
    signal,
    ask: capabilities && askOn(clients, call),
    notify: logLevel === undefined ? tell : filtered(tell, logLevel),
  }
  const reply = await handler.handle(request)
  if (reply.error || !wantsInput(reply.result)) return reply
  return goThroughRounds(handler, request, reply.result, clients.clock)
}

function handleModern(
  handler: McpHandler,
  { held, signer }: FrontClients,
  { route, headers, text, signal, response }: Call,
  { method, params, capabilities, logLevel, clientName: name }: InboundRequest,
): Promise<McpResponse> | McpResponse {
  const notify = filtered(notification => response.notify(notification), logLevel)
  const request: McpRequest = {
    method,
    params,
    route,
    era: 'modern',
    label: name === undefined ? undefined : { name },
    capabilities,
    logLevel,
    headers,
    text,
    signal,
    notify,
  }
  if (!canBeAsked(method)) return handler.handle(request)
  const leg = { response, notify }
  if (params.requestState !== undefined) {
    const anew = afterPages(params, signer)
    if (anew && 'error' in anew) return anew
    if (anew) request.params = anew.params
    const resumed = anew ? undefined : held.resume(request, leg)
    if (resumed) return resumed
  }
  return capabilities ? held.run(handler, request, leg) : handler.handle(request)
}

/** Without a level a caller of the newer era wants no log messages at all. */
function filtered(
  tell: (notification: Notification) => void,
  level: string | undefined,
): (notification: Notification) => void {
  return notification => {
    if (level === undefined ? notification.method !== 'notifications/message' : isWanted(notification, level))
      tell(notification)
  }
}

/** Asks on the stream that the caller waits on, which shows that it is alive meanwhile. */
function askOn(
  { asks, heartbeats }: FrontClients,
  { client, capabilities, response }: Call,
): Ask | undefined {
  if (client === undefined) return undefined
  return async (question, signal) => {
    if (!isQuestion(question.method) || missingCapabilities(question, capabilities))
      return { error: unaskable(question) }
    const stopBeating = heartbeats.add(() => response.beat())
    try {
      return await asks.ask(client, question, signal, message => response.send(message))
    } finally {
      stopBeating()
    }
  }
}
