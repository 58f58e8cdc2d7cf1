/** The `subscriptions/listen` stream of a 2026 upstream: one stream for changed lists and all subscribed resources. */
import { waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { OURSELVES } from '../../caller.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { type Incoming, LISTEN, readMessages } from '../../protocol/message.ts'
import { NO_SUBSCRIPTIONS, NOT_SUBSCRIBED } from '../../protocol/subscription-errors.ts'
import type { HttpClient } from './http-client.ts'
import type { HttpRpc } from './http-rpc.ts'
import { keepStream, type StreamListener } from './kept-stream.ts'
import type { RemoteDeps } from './spec.ts'

const ACK_TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 64 * 1024
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** The filter that the upstream acknowledged, or its error. */
type Agreed = { notifications: JsonObject; error?: undefined } | { error: JsonRpcError }

export type ChangeHooks = {
  /** A list or a subscribed resource has changed. */
  notified(notification: Notification): void
  /** As in SessionHooks. */
  reopened(): void
  missedLists(): void
  /** The upstream refuses a filter that it acknowledged before: it was probably replaced by another server. */
  lost(): void
}

export class ChangeStream {
  readonly #rpc: HttpRpc
  readonly #http: HttpClient
  readonly #deps: RemoteDeps
  readonly #hooks: ChangeHooks
  readonly #lists: JsonObject
  readonly #uris = new Set<string>()
  /** Ends the current stream. */
  #stop: (() => void) | undefined
  /** Settles when the renewals that have begun or wait are done. */
  #renewing: Promise<unknown> = Promise.resolve()
  /** The renewal that has not begun yet. */
  #next: Promise<Agreed> | undefined
  #closed = false

  /** `lists`: the part of the filter for changed lists. Nothing is opened before `renew` or `subscribe`. */
  constructor(rpc: HttpRpc, http: HttpClient, deps: RemoteDeps, hooks: ChangeHooks, lists: JsonObject) {
    this.#rpc = rpc
    this.#http = http
    this.#deps = deps
    this.#hooks = hooks
    this.#lists = lists
  }

  /** Resolves once a stream with this resource is acknowledged or refused. */
  async subscribe(uri: string, signal: AbortSignal): Promise<McpResponse> {
    this.#uris.add(uri)
    try {
      const agreed = await waitFor(this.renew(), signal)
      const subscribed = agreed.error ? [] : agreed.notifications.resourceSubscriptions
      if (Array.isArray(subscribed) && subscribed.includes(uri)) return { result: {} }
      this.#uris.delete(uri)
      return { error: agreed.error ?? NOT_SUBSCRIBED }
    } catch (error) {
      this.unsubscribe(uri)
      throw error
    }
  }

  unsubscribe(uri: string): void {
    if (this.#uris.delete(uri)) void this.renew().catch(() => {})
  }

  /** Opens a stream with the current filter, then ends the previous one. Calls made while a stream is opening share the next one. */
  renew(): Promise<Agreed> {
    if (this.#next) return this.#next
    const next = this.#renewing.then(() => {
      this.#next = undefined
      return this.#replace()
    })
    this.#next = next
    this.#renewing = next.catch(() => {})
    return next
  }

  close(): void {
    this.#closed = true
    this.#stop?.()
  }

  async #replace(): Promise<Agreed> {
    const uris = [...this.#uris]
    const notifications = { ...this.#lists, ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}) }
    const stopPrevious = this.#stop
    if (this.#closed || Object.keys(notifications).length === 0) {
      this.#stop = undefined
      stopPrevious?.()
      return { notifications: {} }
    }
    const { promise, resolve, reject } = Promise.withResolvers<Agreed>()
    const message = 'The upstream does not acknowledge the subscription in time'
    const onlyLists = uris.length === 0
    const timer = this.#deps.clock.after(ACK_TIMEOUT_MS, () =>
      onlyLists ? resolve({ notifications: {} }) : reject(new Fault('upstream_timeout', message)),
    )
    const call = {
      method: LISTEN,
      params: { notifications },
      caller: OURSELVES,
      maxBytes: MAX_ANSWER_BYTES,
    }
    const request = () => ({ method: 'POST' as const, ...this.#rpc.written(call) })
    const stop = keepStream(this.#http, request, this.#listener(resolve), this.#deps)
    const agreed = await promise
      .finally(() => timer.cancel())
      .catch(error => {
        stop()
        throw error
      })
    // For a stream that is only for list changes no subscriber waits: after a refusal it is kept and retried.
    const refused = agreed.error !== undefined && !onlyLists
    if (refused || this.#closed) stop()
    if (refused) return agreed
    stopPrevious?.()
    this.#stop = stop
    return agreed
  }

  /** `settle` receives the first acknowledgement or refusal. */
  #listener(settle: (agreed: Agreed) => void): StreamListener {
    let settled = false
    let attempt = 0
    const heard = (message: Incoming) => {
      if (message.kind === 'answer') {
        // The upstream ended the stream with an answer: it shuts down, or has too many streams.
        if (settled || !message.answer.error) return 'again'
        settle({ error: message.answer.error })
        return message.answer.error.code === METHOD_NOT_FOUND ? 'over' : 'again'
      }
      if (message.kind !== 'notification') return undefined
      if (message.notification.method !== ACKNOWLEDGED) return void this.#hooks.notified(message.notification)
      const notifications = message.notification.params?.notifications
      if (settled) this.#hooks.reopened()
      // The upstream was unreachable for a while.
      if (settled && attempt > 1) this.#hooks.missedLists()
      settled = true
      const agreed = isObject(notifications) ? notifications : {}
      settle({ notifications: agreed })
      return Object.keys(agreed).length === 0 ? 'over' : undefined
    }
    const refused = (text: string) => {
      if (settled) this.#hooks.lost()
      settle({ error: errorIn(text) ?? NO_SUBSCRIPTIONS })
    }
    const opened = (times: number) => {
      attempt = times
    }
    return { heard, refused, opened }
  }
}

function errorIn(text: string): JsonRpcError | undefined {
  try {
    const [message] = readMessages(text)
    return message?.kind === 'answer' ? message.answer.error : undefined
  } catch {
    return undefined
  }
}
