/** Opens the event stream of a GET, which carries notifications and questions to a 2025 client between its requests. */
import type { ServerResponse } from 'node:http'
import type { Log } from '../../log.ts'
import type { Identity } from '../identity.ts'
import { TRANSPORT_ERROR } from '../protocol/error-codes.ts'
import { placeOf } from './bound.ts'
import type { FrontClients } from './clients.ts'
import { atExpiry } from './expiry.ts'
import type { Listening, McpHandler, McpRoute } from './handler.ts'
import { headerOf, type RequestHeaders, takesEventStream } from './headers.ts'
import { listsThatChange, onlyLists } from './listen.ts'
import { checkWithoutBody } from './read-message.ts'
import { type Rejected, reject, rejectUnknownSession } from './rejection.ts'
import type { ClientSession, Sessions } from './session-ids.ts'
import type { Stream } from './streams.ts'

export type StreamOptions = {
  handler: McpHandler
  sessions: Sessions
  clients: FrontClients
  log: Log
  /** Whether callers without a session may open a stream for changes of lists. */
  openToAll?: boolean
}

/** Answers a GET with an event stream, or returns the rejection to answer with. */
export function openStream(
  options: StreamOptions,
  route: McpRoute,
  headers: RequestHeaders,
  identity: Identity,
  raw: ServerResponse,
): Rejected | undefined {
  const { sessions, clients, handler } = options
  const wrongRevision = checkWithoutBody(headers)
  if (wrongRevision) return wrongRevision
  const id = headerOf(headers, 'mcp-session-id')
  const session = id === undefined ? undefined : sessions.find(id, identity.id)
  if (id !== undefined && !session) return rejectUnknownSession()
  const lists = listsThatChange(handler, handler.describe(route, identity)?.capabilities)
  if (!session && !options.openToAll)
    return noStream('There is no stream without a session; initialize first')
  if (!session && lists.length === 0) return noStream('This endpoint sends nothing between calls')
  if (!takesEventStream(headers))
    return reject(406, null, TRANSPORT_ERROR, 'Not Acceptable: Client must accept text/event-stream')
  if (clients.ending.aborted) return busy('The server is shutting down')
  const refusal = clients.streams.refusal(identity.id)
  if (refusal !== undefined) return busy(refusal)
  if (session) clients.subscriptions.renew(session.client, identity)
  open(options, { route, identity }, session, lists, raw)
  return undefined
}

function open(
  { clients: { streams, clock }, handler, log }: StreamOptions,
  { route, identity }: Pick<Listening, 'route' | 'identity'>,
  session: ClientSession | undefined,
  lists: readonly string[],
  raw: ServerResponse,
): void {
  const { client, capabilities } = session ?? {}
  const place = placeOf(route)
  const stream: Stream = streams.open(raw, { caller: identity.id, client, capabilities, place })
  stream.closed.addEventListener('abort', atExpiry(clock, identity, stream.end))
  if (lists.length === 0) return
  // Each stream of a client listens, but only the newest sends, so that the client gets each change once.
  const tell = onlyLists(lists, notification => {
    if (client === undefined || streams.newest(client, place) === stream) stream.send(notification)
  })
  handler
    .listen?.({ route, identity, client, signal: stream.closed, tell })
    .catch(error => log.error({ err: error }, 'listening failed unexpectedly'))
}

function noStream(message: string): Rejected {
  return { ...reject(405, null, TRANSPORT_ERROR, message), headers: ['allow', 'POST, DELETE'] }
}

function busy(message: string): Rejected {
  return { ...reject(503, null, TRANSPORT_ERROR, message), headers: ['retry-after', '1'] }
}
