/** The resource subscriptions of clients: of sessions in the 2025 era, of `subscriptions/listen` streams in the 2026 era. */
import type { Clock } from '../../async.ts'
import type { Identity } from '../identity.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import type { Subscription } from '../upstream.ts'
import type { McpHandler, McpRoute, SubscriptionLife } from './handler.ts'
import { shareOf } from './shares.ts'

/** The client key of a session, or a symbol for a stream, which ends its subscriptions itself. */
export type Subscriber = string | symbol

/** `identity`: who made its newest request. `entries`: by route and URI. */
type Subscribed = { identity: Identity; entries: Map<string, Entry> }
type Entry = { stop: AbortController; answer: Promise<McpResponse> }

export const MAX_URIS = 1_000
const MAX_SUBSCRIBERS = 4_096
/** Few clients end their sessions, so one that has no stream for updates, or an expired credential, at two checks in a row counts as gone. */
export const CHECK_EVERY_MS = 5 * 60_000

/**
 * One subscription of the handler for each subscriber, route and URI:
 *
 * ```
 *   absent ── subscribe ──▶ subscribing ── accepted ──▶ subscribed
 *
 *   subscribing ── refused or failed ────────────────────▶ absent
 *   any ────────── unsubscribe, session or stream ended ──▶ absent
 *   any ────────── handler ends it: no longer allowed ────▶ absent
 * ```
 */
export class Subscriptions {
  readonly #clock: Clock
  /** Whether a client has an open stream. */
  readonly #hasStream: (client: string) => boolean
  readonly #distinguishesCallers: () => boolean
  /** Oldest first. */
  readonly #subscribers = new Map<Subscriber, Subscribed>()
  #isChecking = false
  /** Sessions that counted as gone at the last check. */
  #missed: ReadonlySet<Subscriber> = new Set()

  constructor(clock: Clock, hasStream: (client: string) => boolean, distinguishesCallers: () => boolean) {
    this.#clock = clock
    this.#hasStream = hasStream
    this.#distinguishesCallers = distinguishesCallers
  }

  /** Number of subscribers. */
  get size(): number {
    return this.#subscribers.size
  }

  /** Resolves with the handler's answer. A repeated subscription gets the answer of the first. */
  async subscribe(
    handler: McpHandler,
    route: McpRoute,
    subscriber: Subscriber,
    subscription: Subscription,
  ): Promise<McpResponse> {
    const subscribed = this.#subscribedOf(subscriber, subscription.caller.identity)
    const { entries } = subscribed
    const key = keyOf(route, subscription.uri)
    const known = entries.get(key)
    if (known) return known.answer
    if (entries.size >= MAX_URIS) return TOO_MANY
    const stop = new AbortController()
    const end = () => this.#remove(subscriber, key, stop)
    const identity = () => (this.#isExpired(subscribed) ? undefined : subscribed.identity)
    const life: SubscriptionLife = { signal: stop.signal, identity, end }
    const answer = handler.subscribe?.(route, subscription, life) ?? Promise.resolve(NOT_SERVED)
    entries.set(key, { stop, answer })
    try {
      const { error } = await answer
      if (error) end()
      return answer
    } catch (error) {
      end()
      throw error
    }
  }

  /** Call for each request of a session: its subscriptions have the rights of its newest credential. */
  renew(session: string, identity: Identity): void {
    const known = this.#subscribers.get(session)
    if (known) known.identity = identity
  }

  /** Does nothing if there is no such subscription. */
  unsubscribe(subscriber: Subscriber, route: McpRoute, uri: string): void {
    const key = keyOf(route, uri)
    const entry = this.#subscribers.get(subscriber)?.entries.get(key)
    if (entry) this.#remove(subscriber, key, entry.stop)
  }

  /** Ends the subscriptions of one subscriber. */
  end(subscriber: Subscriber): void {
    const ended = this.#subscribers.get(subscriber)
    this.#subscribers.delete(subscriber)
    for (const { stop } of ended?.entries.values() ?? []) stop.abort()
  }

  endAll(): void {
    for (const subscriber of [...this.#subscribers.keys()]) this.end(subscriber)
  }

  #subscribedOf(subscriber: Subscriber, identity: Identity): Subscribed {
    const known = this.#subscribers.get(subscriber)
    if (known) return known
    this.#makeRoom(identity.id)
    const subscribed: Subscribed = { identity, entries: new Map() }
    this.#subscribers.set(subscriber, subscribed)
    if (!this.#isChecking) this.#checkLater()
    return subscribed
  }

  /**
   * Ends the subscriptions of the caller's oldest session if it has used its share, or if there are too many subscribers: its client may be
   * gone. If the caller has no session, the oldest of all ends. Streams have their own limit.
   */
  #makeRoom(caller: string): void {
    const isFull = this.size >= MAX_SUBSCRIBERS
    const hasShare = this.#distinguishesCallers()
    if (!isFull && !hasShare) return
    const own = this.#sessions()
      .filter(session => this.#subscribers.get(session)?.identity.id === caller)
      .toArray()
    const hasUsedShare = hasShare && own.length >= shareOf(caller, MAX_SUBSCRIBERS)
    if (!isFull && !hasUsedShare) return
    const oldest = own[0] ?? this.#sessions().next().value
    if (oldest !== undefined) this.end(oldest)
  }

  #sessions() {
    return this.#subscribers.keys().filter(subscriber => typeof subscriber === 'string')
  }

  #checkLater(): void {
    this.#isChecking = true
    this.#clock.after(CHECK_EVERY_MS, () => {
      const missed = this.#sessions()
        .filter(client => !this.#hasStream(client) || this.#isExpired(this.#subscribers.get(client)))
        .toArray()
      for (const client of missed) if (this.#missed.has(client)) this.end(client)
      this.#missed = new Set(missed)
      this.#isChecking = false
      if (this.size > 0) this.#checkLater()
    })
  }

  #isExpired(subscribed: Subscribed | undefined): boolean {
    return subscribed !== undefined && subscribed.identity.expiresMs <= this.#clock.now()
  }

  #remove(subscriber: Subscriber, key: string, stop: AbortController): void {
    stop.abort()
    const entries = this.#subscribers.get(subscriber)?.entries
    if (entries?.get(key)?.stop === stop) entries.delete(key)
    if (entries?.size === 0) this.#subscribers.delete(subscriber)
  }
}

function keyOf(route: McpRoute, uri: string): string {
  return `${route.kind === 'server' ? `server ${route.server}` : route.profile} ${uri}`
}

const TOO_MANY: McpResponse = {
  error: {
    code: INTERNAL_ERROR,
    message: `A client can subscribe to ${MAX_URIS} resources at most; unsubscribe from some first`,
  },
}

const NOT_SERVED: McpResponse = {
  error: { code: INTERNAL_ERROR, message: 'This endpoint does not support subscriptions' },
}
