/** Upstreams over the HTTP+SSE transport of 2024-11-05: one event stream for all that comes, POST for all that goes. */
import type { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { Fault } from '../../errors.ts'
import type { JsonObject } from '../../json.ts'
import { waitFor } from '../deadline.ts'
import { initialize } from '../handshake.ts'
import { classify, type Incoming, replyMessage, requestMessage } from '../message.ts'
import type { Notification, Upstream, UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../upstream.ts'
import { createLink, type Link } from './link.ts'
import { PendingCalls } from './pending-calls.ts'
import type { OpenSession, SessionHooks } from './session.ts'
import { SessionUpstream } from './session-upstream.ts'
import type { RemoteDeps, RemoteSpec } from './spec.ts'
import { createSseFetch } from './sse-fetch.ts'

/** Replies to the upstream's own requests that may be under way at once; more requests are not answered. */
const MAX_REPLIES = 16

/** An upstream behind an SSE endpoint. The SDK carries messages; requests and answers are matched here, as raw JSON. */
export function createSseUpstream(spec: RemoteSpec, deps: RemoteDeps): Upstream {
  const link = createLink(spec, deps.clock)
  return new SessionUpstream(spec, deps, openSession(spec, link), link.close)
}

function openSession(spec: RemoteSpec, link: Link): OpenSession {
  return async (hooks, signal) => {
    // 15 MB of code that few need.
    const sdk = await import('@modelcontextprotocol/sdk/client/sse.js')
    const channel = new SseChannel(spec, link, hooks, sdk)
    try {
      const info = await channel.start(signal)
      return { info, request: (call, end) => channel.request(call, end), close: () => channel.close() }
    } catch (error) {
      await channel.close()
      throw error
    }
  }
}

type Sdk = Pick<typeof import('@modelcontextprotocol/sdk/client/sse.js'), 'SSEClientTransport' | 'SseError'>

/** One event stream and what is sent beside it, from start to the first break. */
class SseChannel {
  readonly #transport: SSEClientTransport
  readonly #hooks: SessionHooks
  readonly #pending = new PendingCalls()
  /** Ends a start that the transport itself would leave waiting. */
  readonly #broken = Promise.withResolvers<never>()
  #nextId = 1
  #replies = 0
  #over: Fault | undefined

  constructor(spec: RemoteSpec, link: Link, hooks: SessionHooks, sdk: Sdk) {
    this.#hooks = hooks
    this.#broken.promise.catch(() => {})
    const limit = () => this.#pending.limit()
    const fetch = createSseFetch(link, limit, fault => this.#end(fault))
    this.#transport = new sdk.SSEClientTransport(withoutCredentials(spec.url), { fetch })
    this.#transport.onerror = cause => {
      // Others are messages that are no JSON-RPC and sends that failed: neither ends the session.
      if (!(cause instanceof sdk.SseError)) return
      this.#end(new Fault('upstream_died', 'The upstream ended its event stream', { cause, retryable: true }))
    }
    this.#transport.onmessage = message => {
      const incoming = classify(message)
      if (incoming) this.#take(incoming)
    }
  }

  async start(signal: AbortSignal): Promise<UpstreamInfo> {
    await waitFor(Promise.race([this.#broken.promise, this.#transport.start().catch(notStarted)]), signal)
    const info = await initialize((call, end) => this.request(call, end), signal)
    this.#transport.setProtocolVersion(info.protocolVersion)
    await this.#tell({ method: 'notifications/initialized' })
    return info
  }

  async request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer | 'lost'> {
    if (this.#over) throw this.#over
    const id = this.#nextId++
    const answer = this.#pending.add(id, call)
    this.#send(requestMessage(id, call.method, call.params)).catch(error => this.#pending.refused(id, error))
    call.onSent?.()
    try {
      return await waitFor(answer, signal)
    } catch (error) {
      if (this.#pending.forget(id) && call.method !== 'initialize') this.#tellCancelled(id)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#end(new Fault('upstream_died', 'The session with the upstream was closed'))
    await this.#transport.close()
  }

  #end(fault: Fault): void {
    if (this.#over) return
    this.#over = fault
    this.#pending.end(fault)
    this.#broken.reject(fault)
    void this.#transport.close()
    this.#hooks.lost()
  }

  #take(message: Incoming): void {
    if (message.kind === 'answer') this.#pending.answer(message.id, message.answer)
    else if (message.kind === 'notification') {
      this.#pending.notify(message.notification)
      this.#hooks.notified(message.notification)
    } else if (this.#replies < MAX_REPLIES) {
      this.#replies++
      const sent = this.#send(replyMessage(message)).catch(() => {})
      void sent.then(() => this.#replies--)
    }
  }

  #send(message: JsonObject): Promise<void> {
    return this.#transport.send(message as JSONRPCMessage)
  }

  #tell(notification: Notification): Promise<void> {
    return this.#send({ jsonrpc: '2.0', ...notification })
  }

  #tellCancelled(requestId: number): void {
    const params = { requestId, reason: 'The caller does not wait any longer' }
    void this.#tell({ method: 'notifications/cancelled', params }).catch(() => {})
  }
}

/** User and password of a URL are sent as a header. */
function withoutCredentials(text: string): URL {
  const url = new URL(text)
  url.username = ''
  url.password = ''
  return url
}

function notStarted(cause: unknown): never {
  throw new Fault('upstream_protocol', 'The upstream does not open an event stream as SSE servers do', {
    cause,
  })
}
