/** JSON-RPC over POST in either era: numbers requests, finds their answers, passes on other messages. */
import type { Clock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import { isObject, type JsonObject, type JsonValue } from '../../../json.ts'
import { envelopeOf } from '../../protocol/envelope.ts'
import { UNSUPPORTED_VERSION } from '../../protocol/error-codes.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { ownId, readMessages, requestText, sliceAnswer } from '../../protocol/message.ts'
import { standardHeaders } from '../../protocol/standard-headers.ts'
import type { UpstreamCall } from '../../upstream.ts'
import { CallsInFlight } from '../calls-in-flight.ts'
import { AnswerStream, findAnswer, type Heard } from './answer-stream.ts'
import { bestEffort, MAX_TELL_BYTES } from './best-effort.ts'
import { deniesSession, notJsonRpc, statusFault } from './faults.ts'
import type { HttpClient } from './http-client.ts'
import type { HttpResponse } from './http-request.ts'

const POST_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const HANDSHAKES: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

export class HttpRpc {
  /** The 2026 revision that every request names; undefined: the upstream speaks the 2025 era. */
  modern: string | undefined
  /** Called when the upstream no longer knows the session or no longer speaks the era. */
  onLost: (() => void) | undefined
  /** Called when a call has ended. */
  onEnded: ((call: UpstreamCall) => void) | undefined
  /** Calls that wait for their answers, shared with the router of messages. */
  readonly calls = new CallsInFlight()
  readonly #http: HttpClient
  readonly #clock: Clock
  readonly #heard: Heard
  /** In the 2025 era: the revision and the session id, once known. */
  readonly #headers: Record<string, string> = {}
  /** The headers of POST requests; one object for all of them. */
  #postHeaders: Record<string, string> = POST_HEADERS
  #nextId = 1
  #lost = false

  /** `heard` receives messages on the stream of a call that are not its answer. */
  constructor(http: HttpClient, clock: Clock, heard: Heard) {
    this.#http = http
    this.#clock = clock
    this.#heard = heard
  }

  /** Sends the negotiated revision in a header from now on. */
  speak(version: string): void {
    this.#name('mcp-protocol-version', version)
  }

  /** Headers for requests without a body. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers
  }

  /** Sends one request; `lost`: the upstream no longer knows the session or no longer speaks the era, and did not execute the request. */
  async ask(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    const stream = new AnswerStream(this.#nextId++, call, this.#heard)
    this.calls.add(stream)
    try {
      const answer = this.#read(await this.#send(stream, signal), stream)
      if (answer === undefined) return await this.#resume(stream, signal)
      if (answer !== 'lost' && !deniesEra(answer, call)) return answer
    } catch (error) {
      const answer = await this.#rescue(error, stream, signal)
      if (answer !== 'lost' && !deniesEra(answer, call)) return answer
    } finally {
      this.calls.remove(stream)
      if (signal.aborted) this.#tellCancelled(stream)
      this.onEnded?.(call)
    }
    this.#lost = true
    this.onLost?.()
    return 'lost'
  }

  /** The headers and the body of a request. */
  written(call: UpstreamCall, id = this.#nextId++): { headers: Record<string, string>; body: string } {
    const { modern } = this
    if (modern === undefined) {
      const passed = call.caller.headers
      const headers = passed ? { ...passed, ...this.#postHeaders } : this.#postHeaders
      return { headers, body: requestText(id, call) }
    }
    const headers = { ...call.caller.headers, ...POST_HEADERS, ...standardHeaders(call, modern) }
    return { headers, body: requestText(id, call, envelopeOf(call.caller, modern)) }
  }

  /** Sends a notification and waits until it is accepted. */
  async tell(notification: Notification, signal: AbortSignal): Promise<void> {
    const reply = await this.#post({ jsonrpc: '2.0', ...notification }, signal)
    const fault = statusFault(reply.status)
    if (fault) throw fault
  }

  /** Sends a notification or a reply, best effort. */
  send(message: JsonObject): Promise<void> {
    return bestEffort(this.#clock, signal => this.#post(message, signal))
  }

  /** Ends the session with DELETE, best effort. */
  async end(): Promise<void> {
    const headers = this.#headers
    if (this.#lost || headers['mcp-session-id'] === undefined) return
    await bestEffort(this.#clock, signal =>
      this.#http.send({ method: 'DELETE', headers, maxBytes: MAX_TELL_BYTES }, signal),
    )
  }

  #send(stream: AnswerStream, signal: AbortSignal): Promise<HttpResponse> {
    const { call, id } = stream
    const { headers, body } = this.written(call, id)
    const { maxBytes } = call
    const sent = this.#http.send({ method: 'POST', headers, body, maxBytes, events: stream }, signal)
    call.onSent?.()
    return sent
  }

  /** The answer in a body or a stream; undefined: the stream broke off before it. */
  #read(reply: HttpResponse, stream: AnswerStream): McpResponse | 'lost' | undefined {
    if (stream.call.method === 'initialize') this.#adoptSession(reply)
    return reply.streamed ? stream.answer : this.#readReply(reply, stream)
  }

  /** After a broken connection: resumes the stream, or repeats a request that changes nothing. */
  async #rescue(error: unknown, stream: AnswerStream, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    const { call, lastEventId, resumed } = stream
    const broke = error instanceof Fault && error.code === 'upstream_died' && !signal.aborted
    if (!broke || resumed) throw error
    if (lastEventId !== undefined) return this.#resume(stream, signal)
    if (!mayRepeat(call)) throw error
    return this.#read(await this.#send(stream, signal), stream) ?? this.#resume(stream, signal)
  }

  #resume(stream: AnswerStream, signal: AbortSignal): Promise<McpResponse> {
    const { maxBytes } = stream.call
    const get = (eventId: string) => {
      const headers = { ...this.#headers, accept: 'text/event-stream', 'last-event-id': eventId }
      return this.#http.send({ method: 'GET', headers, maxBytes, events: stream }, signal)
    }
    return stream.resume(this.#clock, get, signal)
  }

  /** The answer in a plain body. Throws the fault of its status, or Fault upstream_protocol. */
  #readReply(reply: HttpResponse, stream: AnswerStream): McpResponse | 'lost' {
    const { id, call } = stream
    const fault = statusFault(reply.status)
    if (!fault) {
      const answer = sliceAnswer(reply.text, id) ?? this.#find(reply, stream)
      if (answer) return answer
      throw notJsonRpc('no message answers the request', reply.headers['content-type'])
    }
    if (fault.code === 'upstream_auth_required') throw fault
    const isHandshake = HANDSHAKES.has(call.method)
    const matching = answerIn(reply.text, of => ownId(of) === id || (of === null && isHandshake))
    if (matching) return matching
    const canBeLost = this.modern !== undefined || this.#headers['mcp-session-id'] !== undefined
    if (canBeLost && deniesSession(reply)) return 'lost'
    // Some servers reject a request before reading it: the error has no id, or another one.
    const unmatched = reply.status === 400 ? answerIn(reply.text, () => true) : undefined
    if (unmatched?.error) return unmatched
    throw fault
  }

  #find(reply: HttpResponse, stream: AnswerStream): McpResponse | undefined {
    try {
      return findAnswer(reply.text, stream)
    } catch (error) {
      if (error instanceof Fault) throw error
      throw notJsonRpc(error, reply.headers['content-type'])
    }
  }

  #adoptSession(reply: HttpResponse): void {
    const id = reply.headers['mcp-session-id']
    if (typeof id === 'string') this.#name('mcp-session-id', id)
  }

  /** Sends a header with every request from now on. */
  #name(header: string, value: string): void {
    this.#headers[header] = value
    this.#postHeaders = { ...POST_HEADERS, ...this.#headers }
  }

  #post(message: JsonObject, signal: AbortSignal): Promise<HttpResponse> {
    const headers = this.#postHeaders
    const body = JSON.stringify(message)
    return this.#http.send({ method: 'POST', headers, body, maxBytes: MAX_TELL_BYTES }, signal)
  }

  /** Only in the 2025 era: in the 2026 era closing the stream cancels the request. */
  #tellCancelled({ id, call }: AnswerStream): void {
    if (this.modern !== undefined || call.method === 'initialize') return
    const params = { requestId: id, reason: 'The caller does not wait any longer' }
    void this.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }
}

/**
 * Whether a request may be sent again if the connection broke, which a kept-alive one may do just as it is reused. Requests that change
 * nothing may; a tool call, or an unknown method, may not, because it may have been executed.
 */
function mayRepeat({ method }: UpstreamCall): boolean {
  return REPEATABLE.test(method)
}

const REPEATABLE =
  /^(initialize|server\/discover|ping|(tools|resources|resources\/templates|prompts)\/list|resources\/(read|subscribe|unsubscribe)|prompts\/get|completion\/complete|logging\/setLevel|tasks\/(get|list))$/

/** Whether the upstream stopped speaking our era. Handshakes handle this error themselves. */
function deniesEra({ error }: McpResponse, { method }: UpstreamCall): boolean {
  if (error?.code !== UNSUPPORTED_VERSION || HANDSHAKES.has(method)) return false
  // A server may use the code for errors of its own; the protocol's error lists the versions.
  return isObject(error.data) && Array.isArray(error.data.supported)
}

/** The JSON-RPC answer in a body of any status, if its id fits. */
function answerIn(text: string, fits: (id: JsonValue) => boolean): McpResponse | undefined {
  try {
    for (const message of readMessages(text))
      if (message.kind === 'answer' && fits(message.id)) return message.answer
  } catch {
    // Not JSON: the status decides.
  }
  return undefined
}
