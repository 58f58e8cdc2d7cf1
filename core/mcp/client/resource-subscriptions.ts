/** The resource subscriptions of one session key at an upstream: shared by their subscribers, renewed when the session is replaced. */
import type { Clock, Timer } from '../../async.ts'
import { backoffMs } from '../../backoff.ts'
import { faultOf, waitFor } from '../../deadline.ts'
import { Fault } from '../../errors.ts'
import type { McpResponse, Notification } from '../protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../protocol/message.ts'
import { covers, readUpdate } from '../protocol/resource-update.ts'
import type { Subscription } from '../upstream.ts'
import { upstreamDeadline } from '../upstream-deadline.ts'

/** Subscribed resources at once; more are refused. */
export const MAX_RESOURCES = 1_000
const SUBSCRIBE_TIMEOUT_MS = 30_000
const RETRY = { firstMs: 1_000, longestMs: 60_000 }
/** A request is sent once more, on a new session, if its session is lost. */
const MAX_TRIES = 2

/** A session with an upstream, of any era and transport. */
export type SubscribableSession = {
  /** Resolves with the upstream's answer. `lost`: the upstream no longer knows the session; the next call opens another one. */
  subscribe(uri: string, signal: AbortSignal): Promise<McpResponse | 'lost'>
  /** Best effort. */
  unsubscribe(uri: string): void
}

export type ResourceSubscriptionsOptions = {
  clock: Clock
  /** Returns 0 to 1, for the jitter of retries; default Math.random. */
  random?: () => number
  /** Opens the session if there is none; throws Faults. */
  session: SubscribableSession
  /** Called when the session is no longer used: it is lost, or nothing is subscribed to. */
  release?: () => void
}

type Resource = {
  readonly uri: string
  state: 'subscribing' | 'subscribed' | 'lost'
  readonly subscribers: Set<Subscription['onUpdate']>
  /** The answer to the first request, shared by all subscribers. */
  answer: Promise<McpResponse>
}

/**
 * One request subscribes to a resource for all its subscribers:
 *
 * ```
 *   absent ── first subscriber ──▶ subscribing ─ accepted ▶ subscribed
 *                                     ▲   │                     │
 *             pause, or a new session │   │ refused, failed     │ session gone
 *                                     │   ▼                     │
 *                                     lost ◀────────────────────┘
 *
 *   subscribing ── refused or failed the first time ──▶ absent
 *   any ────────── last subscriber left ──────────────▶ absent, and unsubscribed; from `subscribing` with the answer
 * ```
 *
 * A resource that is subscribed to again after a loss is reported as updated: changes may have been missed.
 */
export class ResourceSubscriptions {
  readonly #options: ResourceSubscriptionsOptions
  readonly #resources = new Map<string, Resource>()
  readonly #closing = new AbortController()
  /** Counts sessions, to ignore answers that an earlier one gave. */
  #sessions = 0
  #retry: Timer | undefined
  /** Retries since all resources were subscribed. */
  #retries = 0

  constructor(options: ResourceSubscriptionsOptions) {
    this.#options = options
  }

  /** Number of subscribed resources. */
  get size(): number {
    return this.#resources.size
  }

  /** Forwards updates until `signal` aborts. Resolves with the upstream's answer; an error ends the subscription. Throws Faults. */
  async subscribe({ uri, onUpdate }: Subscription, signal: AbortSignal): Promise<McpResponse> {
    if (signal.aborted) throw faultOf(signal)
    const resource = this.#resources.get(uri) ?? this.#begin(uri)
    // A new function for each subscriber: the same `onUpdate` may be given twice.
    const subscriber = (notification: Notification) => onUpdate(notification)
    const leave = () => {
      signal.removeEventListener('abort', leave)
      this.#leave(resource, subscriber)
    }
    resource.subscribers.add(subscriber)
    signal.addEventListener('abort', leave)
    try {
      const answer = await waitFor(resource.answer, signal)
      if (answer.error) leave()
      return answer
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Forwards `notifications/resources/updated` to its subscribers. */
  updated(notification: Notification): void {
    const update = readUpdate(notification)
    if (!update) return
    for (const resource of this.#resources.values())
      if (covers(resource.uri, update.uri)) tell(resource, update.notification)
  }

  /** Changes may have been missed: reports every resource as updated. */
  missed(): void {
    for (const resource of this.#resources.values()) tellChanged(resource)
  }

  /** The session is gone: opens another one after a backoff. */
  lost(): void {
    this.#options.release?.()
    this.#leaveSession()
    if (this.#lost().length > 0) this.#retryLater()
  }

  /** Another session has replaced the previous one. */
  renewed(): void {
    this.#leaveSession()
    this.#resubscribe()
  }

  close(): void {
    this.#closing.abort(new Fault('cancelled', 'The upstream was closed'))
    this.#resources.clear()
    this.#settle()
  }

  #begin(uri: string): Resource {
    if (this.size >= MAX_RESOURCES)
      throw new Fault('upstream_busy', `All ${MAX_RESOURCES} subscriptions are in use`, { retryable: true })
    const { promise: answer, resolve } = Promise.withResolvers<McpResponse>()
    const resource: Resource = { uri, state: 'subscribing', subscribers: new Set(), answer }
    this.#resources.set(uri, resource)
    resolve(this.#first(resource))
    return resource
  }

  /** The first request for a resource. */
  async #first(resource: Resource): Promise<McpResponse> {
    try {
      const answer = await this.#request(resource)
      if (answer.error || resource.subscribers.size === 0) this.#end(resource)
      else if (resource.state === 'lost') this.#retryLater()
      return answer
    } catch (error) {
      this.#end(resource)
      throw error
    }
  }

  /** Subscribes to a resource again after a loss. */
  async #again(resource: Resource): Promise<void> {
    await this.#request(resource).catch(() => {})
    if (resource.subscribers.size === 0) return this.#end(resource)
    if (resource.state === 'subscribed') {
      if (this.#lost().length === 0) this.#retries = 0
      tellChanged(resource)
    } else {
      resource.state = 'lost'
      this.#retryLater()
    }
  }

  async #request(resource: Resource): Promise<McpResponse> {
    const { clock, session } = this.#options
    const limit = upstreamDeadline(
      clock,
      SUBSCRIBE_TIMEOUT_MS,
      'Not subscribed in time',
      this.#closing.signal,
    )
    resource.state = 'subscribing'
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        if (limit.signal.aborted) throw faultOf(limit.signal)
        const number = this.#sessions
        const answer = await session.subscribe(resource.uri, limit.signal)
        if (answer === 'lost') continue
        if (answer.result) resource.state = number === this.#sessions ? 'subscribed' : 'lost'
        return answer
      }
      throw new Fault('upstream_died', 'The upstream loses each session as soon as it is opened', {
        retryable: true,
      })
    } finally {
      limit.clear()
    }
  }

  #leaveSession(): void {
    this.#sessions++
    for (const resource of this.#resources.values())
      if (resource.state === 'subscribed') resource.state = 'lost'
  }

  #retryLater(): void {
    const { clock, random = Math.random } = this.#options
    if (this.#retry || this.#closing.signal.aborted) return
    this.#retry = clock.after(backoffMs(RETRY, this.#retries++, random), () => this.#resubscribe())
  }

  #resubscribe(): void {
    this.#stopRetrying()
    for (const resource of this.#lost()) void this.#again(resource)
  }

  #lost(): Resource[] {
    return [...this.#resources.values()].filter(({ state }) => state === 'lost')
  }

  #leave(resource: Resource, subscriber: Subscription['onUpdate']): void {
    resource.subscribers.delete(subscriber)
    if (resource.subscribers.size === 0 && resource.state !== 'subscribing') this.#end(resource)
  }

  #end(resource: Resource): void {
    if (this.#resources.get(resource.uri) !== resource) return
    this.#resources.delete(resource.uri)
    if (resource.state === 'subscribed') this.#options.session.unsubscribe(resource.uri)
    this.#settle()
  }

  #settle(): void {
    if (this.size > 0) return
    this.#stopRetrying()
    this.#options.release?.()
  }

  #stopRetrying(): void {
    this.#retry?.cancel()
    this.#retry = undefined
  }
}

function tell({ subscribers }: Resource, notification: Notification): void {
  for (const onUpdate of subscribers) onUpdate(notification)
}

function tellChanged(resource: Resource): void {
  tell(resource, { method: RESOURCE_UPDATED, params: { uri: resource.uri } })
}
