/** Upstreams over the HTTP+SSE transport of 2024-11-05: one event stream for incoming messages, POST for outgoing ones. */
import type { EventSourceMessage } from 'eventsource-parser'
import { waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import type { Caller } from '../../caller.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { type Incoming, requestText } from '../../protocol/message.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { Upstream, UpstreamCall } from '../../upstream.ts'
import { initialize, type Negotiated } from '../handshake.ts'
import { refusedAnswers } from '../refused-answers.ts'
import { idOfLine, readLine } from '../stdio/read-line.ts'
import { subscribeCall, unsubscribe } from '../subscribe-requests.ts'
import { bestEffort, MAX_TELL_BYTES, TELL_TIMEOUT_MS } from './best-effort.ts'
import { deniesSession, statusFault } from './faults.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import type { HttpResponse } from './http-request.ts'
import { LogLevel } from './log-level.ts'
import { MessageRouter } from './message-router.ts'
import { PendingCalls } from './pending-calls.ts'
import type { Session, SessionHooks } from './session.ts'
import { SessionUpstream } from './session-upstream.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'

/** The largest event, even if a call allows more. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024

/** An upstream behind an SSE endpoint. Shared sessions declare no capabilities: a question cannot be assigned to a call there. */
export function createSseUpstream(spec: RemoteSpec, deps: RemoteDeps): Upstream {
  const http = createHttpClient(spec, deps)
  const open = async (hooks: SessionHooks, signal: AbortSignal) => {
    const session = new SseSession(http, deps, hooks)
    try {
      await session.start(signal)
      return session
    } catch (error) {
      await session.close()
      throw error
    }
  }
  return new SessionUpstream(
    spec,
    deps,
    { open, speaks: (era: Era) => era === 'legacy', questionsOfCalls: false },
    http.close,
  )
}

/** One event stream and its POSTs, from the start to the first break. */
class SseSession implements Session {
  info: Negotiated = { protocolVersion: '', wireVersion: '', capabilities: {} }
  readonly #http: HttpClient
  readonly #deps: RemoteDeps
  readonly #hooks: SessionHooks
  readonly #pending = new PendingCalls()
  readonly #router: MessageRouter
  readonly #stop = new AbortController()
  /** The path for messages, which the stream's first event names. */
  readonly #endpoint = Promise.withResolvers<string>()
  readonly #headers: Record<string, string> = { 'content-type': 'application/json' }
  #path = ''
  /** Where the stream is, after redirects. */
  #streamUrl = ''
  #logLevel: LogLevel | undefined
  #nextId = 1
  #over: Fault | undefined

  constructor(http: HttpClient, deps: RemoteDeps, hooks: SessionHooks) {
    this.#http = http
    this.#deps = deps
    this.#hooks = hooks
    this.#router = new MessageRouter(hooks, this.#pending.calls, reply => this.#tell(reply))
    this.#endpoint.promise.catch(() => {})
  }

  async start(signal: AbortSignal): Promise<void> {
    void this.#listen()
    this.#path = await waitFor(this.#endpoint.promise, signal)
    const ask = (call: UpstreamCall, end: AbortSignal) => this.#ask(call, end)
    this.info = await initialize(ask, signal, this.#hooks.capabilities)
    this.#headers['mcp-protocol-version'] = this.info.wireVersion
    if (isObject(this.info.capabilities.logging))
      this.#logLevel = new LogLevel(ask, this.#deps.clock, this.#hooks.own)
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
    const fault = statusFault((await this.#send(initialized, {}, signal)).status)
    if (fault) throw fault
  }

  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    const refused = refusedAnswers(call)
    if (refused) return Promise.resolve(refused)
    this.#router.began(call)
    const setting = this.#logLevel?.ahead(call.caller.logLevel, signal)
    return setting ? setting.then(() => this.#ask(call, signal)) : this.#ask(call, signal)
  }

  tell(notification: Notification): void {
    void this.#tell({ jsonrpc: '2.0', ...notification })
  }

  subscribe(uri: string, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    return this.#ask(subscribeCall(uri), signal)
  }

  unsubscribe(uri: string): void {
    void unsubscribe(uri, this.#deps.clock, (call, end) => this.#ask(call, end))
  }

  async close(): Promise<void> {
    this.#end(new Fault('upstream_died', 'The session with the upstream was closed'))
  }

  async #ask(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'> {
    if (this.#over) throw this.#over
    const id = this.#nextId++
    const answer = this.#pending.add(id, call)
    const posting = new AbortController()
    let posted = false
    this.#postCall(id, call, posting.signal).finally(() => {
      posted = true
    })
    call.onSent?.()
    try {
      return await waitFor(answer, signal)
    } catch (error) {
      if (this.#pending.forget(id) && call.method !== 'initialize') this.#tellCancelled(id)
      throw error
    } finally {
      this.#router.callEnded(call)
      // Some servers never answer the POST, which would keep its connection busy.
      if (!posted) this.#deps.clock.after(TELL_TIMEOUT_MS, () => posting.abort())
    }
  }

  async #listen(): Promise<void> {
    const headers = { accept: 'text/event-stream' }
    const events = {
      onStream: (path: string) => {
        this.#streamUrl = this.#http.origin + path
      },
      onEvent: (event: EventSourceMessage) => this.#take(event),
      limit: () => this.#pending.limit(),
    }
    const request = { method: 'GET', headers, maxBytes: MAX_EVENT_BYTES, events, stays: true } as const
    try {
      this.#end(endOf(await this.#http.send(request, this.#stop.signal)))
    } catch (error) {
      this.#end(
        error instanceof Fault ? error : new Fault('upstream_died', 'The stream broke', { cause: error }),
      )
    }
  }

  #take({ event, data }: EventSourceMessage): undefined {
    if (event === 'endpoint') return this.#adopt(data)
    for (const message of this.#messagesOf(data)) {
      if (message.kind === 'answer') this.#pending.answer(message.id, message.answer, Buffer.byteLength(data))
      else this.#router.take(message, data.length)
    }
  }

  /** None of a text with too many values: of several calls, only the one that it answers fails. */
  #messagesOf(data: string): Incoming[] {
    try {
      return readLine(data) ?? []
    } catch (error) {
      const id = idOfLine(data)
      if (id !== undefined) this.#pending.refused(id, error)
      return []
    }
  }

  /** Adopts the URL for messages. Refuses other origins, because messages carry secrets. */
  #adopt(endpoint: string): undefined {
    const here = this.#streamUrl
    const target = URL.canParse(endpoint, here) ? new URL(endpoint, here) : undefined
    if (target?.origin === this.#http.origin) this.#endpoint.resolve(target.pathname + target.search)
    else this.#end(new Fault('upstream_protocol', 'The upstream names another host for messages'))
  }

  #end(fault: Fault): void {
    if (this.#over) return
    this.#over = fault
    this.#endpoint.reject(fault)
    this.#pending.end(fault)
    this.#router.end()
    this.#stop.abort(fault)
    this.#hooks.lost()
  }

  /** Never rejects: ends the wait for the answer if the upstream does not take the request. */
  async #postCall(id: number, call: UpstreamCall, signal: AbortSignal): Promise<void> {
    try {
      const reply = await this.#send(requestText(id, call), call.caller.headers, signal)
      const fault = statusFault(reply.status)
      if (fault && deniesSession(reply)) this.#pending.lost(id)
      else if (fault) this.#pending.refused(id, fault)
    } catch (error) {
      this.#pending.refused(id, error)
    }
  }

  #send(body: string, headers: Caller['headers'], signal: AbortSignal): Promise<HttpResponse> {
    const sent = { ...headers, ...this.#headers }
    const request = {
      method: 'POST',
      path: this.#path,
      headers: sent,
      body,
      maxBytes: MAX_TELL_BYTES,
    } as const
    return this.#http.send(request, signal)
  }

  /** Sends a notification or a reply, best effort. */
  #tell(message: JsonObject): Promise<void> {
    const send = (signal: AbortSignal) => this.#send(JSON.stringify(message), {}, signal)
    return bestEffort(this.#deps.clock, send, this.#stop.signal)
  }

  #tellCancelled(requestId: number): void {
    const params = { requestId, reason: 'The caller does not wait any longer' }
    this.tell({ method: 'notifications/cancelled', params })
  }
}

/** The fault for the end of a stream that should never end. */
function endOf({ status, headers, streamed }: HttpResponse): Fault {
  const type = String(headers['content-type'] ?? 'no content type').slice(0, 100)
  return (
    statusFault(status) ??
    (streamed
      ? new Fault('upstream_died', 'The upstream ended its event stream', { retryable: true })
      : new Fault('upstream_protocol', `The upstream opens no event stream (${type})`))
  )
}
