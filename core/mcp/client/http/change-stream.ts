/** The one `subscriptions/listen` stream of an upstream of the 2026 era: for changed lists, and for each resource that is subscribed to. */
import { waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import { isObject, type JsonObject } from '../../../json.ts'
import { OURSELVES } from '../../caller.ts'
import { METHOD_NOT_FOUND } from '../../protocol/error-codes.ts'
import type { JsonRpcError, McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { classify, type Incoming } from '../../protocol/message.ts'
import type { HttpClient } from './http-client.ts'
import type { HttpRpc } from './http-rpc.ts'
import { keepStream, type StreamListener } from './kept-stream.ts'
import type { RemoteDeps } from './spec.ts'

const ACK_TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 64 * 1024
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const NOT_SUBSCRIBED = { code: -32602, message: 'The server does not accept subscriptions to this resource' }
const NO_STREAM = { code: METHOD_NOT_FOUND, message: 'The server does not support subscriptions' }

/** What the upstream acknowledged, or why it refuses. */
type Agreed = { notifications: JsonObject; error?: undefined } | { error: JsonRpcError }

export type ChangeHooks = {
  notified(notification: Notification): void
  reopened(down: boolean): void
  /** What was agreed to before is refused now: the upstream is another one. */
  lost(): void
}

export class ChangeStream {
  readonly #rpc: HttpRpc
  readonly #http: HttpClient
  readonly #deps: RemoteDeps
  readonly #hooks: ChangeHooks
  readonly #lists: JsonObject
  readonly #uris = new Set<string>()
  #stop: (() => void) | undefined
  #renewing: Promise<unknown> = Promise.resolve()
  #next: Promise<Agreed> | undefined
  #closed = false

  /** `lists` are the filter's keys that are always wanted. Nothing is opened before `renew` or `subscribe`. */
  constructor(rpc: HttpRpc, http: HttpClient, deps: RemoteDeps, hooks: ChangeHooks, lists: JsonObject) {
    this.#rpc = rpc
    this.#http = http
    this.#deps = deps
    this.#hooks = hooks
    this.#lists = lists
  }

  /** Answers once a stream with it is open. */
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

  /** Opens a stream for what is wanted now, and ends the one before. All that ask while one is being opened share the next. */
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
    const before = this.#stop
    if (this.#closed || Object.keys(notifications).length === 0) {
      this.#stop = undefined
      before?.()
      return { notifications: {} }
    }
    const { promise, resolve, reject } = Promise.withResolvers<Agreed>()
    const message = 'The upstream does not acknowledge the subscription in time'
    const patient = uris.length === 0
    const limit = this.#deps.clock.after(ACK_TIMEOUT_MS, () =>
      patient ? resolve({ notifications: {} }) : reject(new Fault('upstream_timeout', message)),
    )
    const call = {
      method: 'subscriptions/listen',
      params: { notifications },
      caller: OURSELVES,
      maxBytes: MAX_ANSWER_BYTES,
    }
    const request = () => ({ method: 'POST' as const, ...this.#rpc.written(call) })
    const stop = keepStream(this.#http, request, this.#listener(resolve), this.#deps)
    const agreed = await promise
      .finally(() => limit.cancel())
      .catch(error => {
        stop()
        throw error
      })
    // For lists alone nobody waits: they are asked for again, and again.
    const refused = agreed.error !== undefined && !patient
    if (refused || this.#closed) stop()
    if (refused) return agreed
    before?.()
    this.#stop = stop
    return agreed
  }

  /** `settle` takes the first thing that the upstream says to what is wanted. */
  #listener(settle: (agreed: Agreed) => void): StreamListener {
    let settled = false
    let attempt = 0
    const heard = (message: Incoming) => {
      if (message.kind === 'answer') {
        // The upstream ends the stream in good order: it goes away, or has too many.
        if (settled || !message.answer.error) return 'again'
        settle({ error: message.answer.error })
        return message.answer.error.code === METHOD_NOT_FOUND ? 'over' : 'again'
      }
      if (message.kind !== 'notification') return undefined
      if (message.notification.method !== ACKNOWLEDGED) return void this.#hooks.notified(message.notification)
      const notifications = message.notification.params?.notifications
      if (settled) this.#hooks.reopened(attempt > 1)
      settled = true
      const agreed = isObject(notifications) ? notifications : {}
      settle({ notifications: agreed })
      return Object.keys(agreed).length === 0 ? 'over' : undefined
    }
    const refused = (text: string) => {
      if (settled) this.#hooks.lost()
      settle({ error: errorIn(text) ?? NO_STREAM })
    }
    const opened = (times: number) => {
      attempt = times
    }
    return { heard, refused, opened }
  }
}

function errorIn(text: string): JsonRpcError | undefined {
  try {
    const message = classify(JSON.parse(text))
    return message?.kind === 'answer' ? message.answer.error : undefined
  } catch {
    return undefined
  }
}
