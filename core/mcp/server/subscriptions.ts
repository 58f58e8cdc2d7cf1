/** The resource subscriptions of clients: of sessions in the 2025 era, of `subscriptions/listen` streams in the 2026 era. */
import type { Clock } from '../../async.ts'
import { INTERNAL_ERROR } from '../protocol/error-codes.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import type { Subscription } from '../upstream.ts'
import type { McpHandler, McpRoute } from './handler.ts'
import { shareOf } from './shares.ts'

/** The client key of a session, or a symbol for a stream, which ends its subscriptions itself. */
export type Subscriber = string | symbol

/** `caller`: the id of the caller's identity. `entries`: by route and URI. */
type Subscribed = { caller: string; entries: Map<string, Entry> }
type Entry = { stop: AbortController; answer: Promise<McpResponse> }

export const MAX_URIS = 1_000
const MAX_SUBSCRIBERS = 4_096
/** Few clients end their sessions, so one that has no stream for updates at two checks in a row counts as gone. */
export const CHECK_EVERY_MS = 5 * 60_000

/**
 * One subscription of the handler for each subscriber, route and URI:
 *
 * ```
 *   absent ── subscribe ──▶ subscribing ── accepted ──▶ subscribed
 *
 *   subscribing ── refused or failed ────────────────────▶ absent
 *   any ────────── unsubscribe, session or stream ended ──▶ absent
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
  /** Subscribers without a stream at the last check. */
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
    const entries = this.#entriesOf(subscriber, subscription.caller.identity.id)
    const key = keyOf(route, subscription.uri)
    const known = entries.get(key)
    if (known) return known.answer
    if (entries.size >= MAX_URIS) return TOO_MANY
    const stop = new AbortController()
    const answer = handler.subscribe?.(route, subscription, stop.signal) ?? Promise.resolve(NOT_SERVED)
    const entry = { stop, answer }
    entries.set(key, entry)
    try {
      const { error } = await answer
      if (error) this.#remove(subscriber, key, entry)
      return answer
    } catch (error) {
      this.#remove(subscriber, key, entry)
      throw error
    }
  }

  /** Does nothing if there is no such subscription. */
  unsubscribe(subscriber: Subscriber, route: McpRoute, uri: string): void {
    const key = keyOf(route, uri)
    const entry = this.#subscribers.get(subscriber)?.entries.get(key)
    if (entry) this.#remove(subscriber, key, entry)
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

  #entriesOf(subscriber: Subscriber, caller: string): Map<string, Entry> {
    const known = this.#subscribers.get(subscriber)
    if (known) return known.entries
    this.#makeRoom(caller)
    const entries = new Map<string, Entry>()
    this.#subscribers.set(subscriber, { caller, entries })
    if (!this.#isChecking) this.#checkLater()
    return entries
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
      .filter(session => this.#subscribers.get(session)?.caller === caller)
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
        .filter(client => !this.#hasStream(client))
        .toArray()
      for (const client of missed) if (this.#missed.has(client)) this.end(client)
      this.#missed = new Set(missed)
      this.#isChecking = false
      if (this.size > 0) this.#checkLater()
    })
  }

  #remove(subscriber: Subscriber, key: string, entry: Entry): void {
    entry.stop.abort()
    const entries = this.#subscribers.get(subscriber)?.entries
    if (entries?.get(key) === entry) entries.delete(key)
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
