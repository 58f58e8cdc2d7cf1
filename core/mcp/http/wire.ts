/** JSON-RPC over POST: numbers requests, finds their answers, answers the upstream's own requests. */
import type { Clock } from '../../async.ts'
import { Fault } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'
import { deadline } from '../deadline.ts'
import {
  type Incoming,
  readMessages,
  replyMessage,
  requestMessage,
  sliceAnswer,
  withCallersToken,
} from '../message.ts'
import type { Notification, UpstreamAnswer, UpstreamCall } from '../upstream.ts'
import { type AnswerStream, createAnswerStream, findAnswer, followStream } from './answer-stream.ts'
import type { HttpReply } from './exchange.ts'
import { notJsonRpc, statusFault } from './faults.ts'
import type { Link } from './link.ts'
import type { RemoteDeps } from './spec.ts'

/** For messages that are sent best effort: notifications, replies, the end of a session. */
const TELL_TIMEOUT_MS = 2_000
const MAX_TELL_BYTES = 64 * 1024
/** Replies to the upstream's own requests that may be under way at once; more requests are not answered. */
const MAX_REPLIES = 16

export class Wire {
  /** Sent with every message: the protocol's revision and the session, once they are known. */
  readonly headers: Record<string, string> = {}
  readonly #link: Link
  readonly #clock: Clock
  readonly #notified: (notification: Notification) => void
  #nextId = 1
  #replies = 0

  constructor(link: Link, { clock }: RemoteDeps, notified: (notification: Notification) => void) {
    this.#link = link
    this.#clock = clock
    this.#notified = notified
  }

  /** One request and its answer; `lost`: the upstream does not know the session and did nothing. */
  async ask(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer | 'lost'> {
    const id = this.#nextId++
    const stream = createAnswerStream(id, call, this.heard)
    try {
      const followed = await followStream(stream, this.#clock, this.#waysOf(id, call, stream, signal), signal)
      return 'status' in followed ? readReply(followed, id, call, this) : followed
    } catch (error) {
      if (signal.aborted && call.method !== 'initialize') this.#tellCancelled(id)
      throw error
    }
  }

  /** Sends a notification and waits until it is accepted. */
  async tell(notification: Notification, signal: AbortSignal): Promise<void> {
    const reply = await this.#post({ jsonrpc: '2.0', ...notification }, signal)
    const fault = statusFault(reply.status)
    if (fault) throw fault
  }

  /** Takes a message that is no answer; `call` is the one on whose stream it came. */
  readonly heard = (message: Incoming, call?: UpstreamCall): void => {
    if (message.kind === 'notification') {
      if (call?.onNotification) call.onNotification(withCallersToken(message.notification, call))
      this.#notified(message.notification)
    } else if (message.kind === 'request' && this.#replies < MAX_REPLIES) {
      this.#replies++
      const sent = this.#bestEffort(signal => this.#post(replyMessage(message), signal))
      void sent.then(() => this.#replies--)
    }
  }

  /** Says goodbye to the session, best effort. */
  async end(): Promise<void> {
    const { headers } = this
    if (headers['mcp-session-id'] === undefined) return
    await this.#bestEffort(signal =>
      this.#link.send({ method: 'DELETE', headers, maxBytes: MAX_TELL_BYTES }, signal),
    )
  }

  /** How a request is sent, and how its stream is taken up again. */
  #waysOf(id: number, call: UpstreamCall, stream: AnswerStream, signal: AbortSignal) {
    const body = JSON.stringify(requestMessage(id, call.method, call.params))
    const { maxBytes } = call
    const { onEvent, onRetry } = stream
    const send = async () => {
      const headers = { ...POST_HEADERS, ...this.headers }
      const sent = this.#link.send({ method: 'POST', headers, body, maxBytes, onEvent, onRetry }, signal)
      call.onSent?.()
      const reply = await sent
      if (call.method === 'initialize') adoptSession(this.headers, reply)
      return reply
    }
    return {
      post: () => send().catch(error => (mayRepeat(error, call, stream) ? send() : Promise.reject(error))),
      get: (eventId: string) => {
        const headers = { ...this.headers, accept: 'text/event-stream', 'last-event-id': eventId }
        return this.#link.send({ method: 'GET', headers, maxBytes, onEvent, onRetry }, signal)
      },
    }
  }

  #post(message: JsonObject, signal: AbortSignal): Promise<HttpReply> {
    const headers = { ...POST_HEADERS, ...this.headers }
    const request = {
      method: 'POST' as const,
      headers,
      body: JSON.stringify(message),
      maxBytes: MAX_TELL_BYTES,
    }
    return this.#link.send(request, signal)
  }

  #tellCancelled(requestId: number): void {
    const params = { requestId, reason: 'The caller does not wait any longer' }
    void this.#bestEffort(signal => this.tell({ method: 'notifications/cancelled', params }, signal))
  }

  async #bestEffort(send: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const limit = deadline(this.#clock, TELL_TIMEOUT_MS, 'Not accepted in time')
    await send(limit.signal).catch(() => {})
    limit.clear()
  }
}

const POST_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/**
 * A connection that was kept alive may break just as it is used again. What changes nothing is sent once more; a tool
 * call is not, because it may have been done.
 */
function mayRepeat(error: unknown, call: UpstreamCall, stream: AnswerStream): boolean {
  const broke = error instanceof Fault && error.code === 'upstream_died'
  return broke && stream.lastEventId === undefined && call.method !== 'tools/call'
}

function adoptSession(headers: Record<string, string>, reply: HttpReply) {
  const id = reply.headers['mcp-session-id']
  if (typeof id === 'string') headers['mcp-session-id'] = id
}

/** The answer in a plain body. Throws the fault of its status, or Fault upstream_protocol. */
function readReply(
  reply: HttpReply,
  id: number,
  call: UpstreamCall,
  { headers, heard }: Wire,
): UpstreamAnswer | 'lost' {
  const fault = statusFault(reply.status)
  if (!fault) {
    const answer = sliceAnswer(reply.text, id) ?? findAnswer(parse(reply), id, call, heard)
    if (answer) return answer
    throw notJsonRpc('no message answers the request', reply.headers['content-type'])
  }
  if (fault.code === 'upstream_auth_required') throw fault
  const own = ownError(reply.text, id)
  if (own) return own
  if (headers['mcp-session-id'] !== undefined && deniesSession(reply)) return 'lost'
  throw fault
}

function parse(reply: HttpReply): Incoming[] {
  try {
    return readMessages(reply.text)
  } catch (error) {
    throw notJsonRpc(error, reply.headers['content-type'])
  }
}

/** A JSON-RPC error that names our request is an answer, whatever the status. */
function ownError(text: string, id: number): UpstreamAnswer | undefined {
  try {
    const own = readMessages(text).find(message => message.kind === 'answer' && message.id === id)
    return own?.kind === 'answer' ? own.answer : undefined
  } catch {
    return undefined
  }
}

/** 404 by the protocol; many servers, written after the SDK's first examples, say 400 and name the session. */
function deniesSession({ status, text }: HttpReply): boolean {
  return status === 404 || (status === 400 && /session/i.test(text.slice(0, 1000)))
}
