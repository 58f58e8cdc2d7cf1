/** The watched resources of an upstream, by session, bounded. */

import { Fault } from '../../../errors.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { MAX_WATCHED } from '../../protocol/resource-update.ts'
import type { Subscription } from '../../upstream.ts'
import type { Entry, SessionBook, SessionKey, Wanted } from './session-book.ts'
import { SHARED } from './session-key.ts'
import type { RemoteDeps } from './spec.ts'
import { Watch } from './watch.ts'

export class Watches {
  readonly #book: SessionBook
  readonly #deps: RemoteDeps
  readonly #watches = new Map<SessionKey, Watch>()

  constructor(book: SessionBook, deps: RemoteDeps) {
    this.#book = book
    this.#deps = deps
  }

  /** `wanted` says on which session. Throws Fault upstream_busy where too much is watched. */
  add(subscription: Subscription, wanted: () => Wanted, signal: AbortSignal): Promise<McpResponse> {
    const { key } = wanted()
    const watch = this.#watches.get(key) ?? this.#create(key, wanted)
    if (!watch.has(subscription.uri) && this.#count() >= MAX_WATCHED)
      throw new Fault('upstream_busy', `All ${MAX_WATCHED} subscriptions are in use`, { retryable: true })
    return watch.add(subscription, signal)
  }

  updated(entry: Entry, notification: Notification): void {
    this.#on(entry)?.updated(notification)
  }

  /** The session may have missed changes. */
  missed(entry: Entry): void {
    this.#on(entry)?.missed()
  }

  forget(client: string): void {
    this.#watches.get(client)?.close()
    this.#watches.delete(client)
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
    this.#watches.clear()
  }

  #create(key: SessionKey, wanted: () => Wanted): Watch {
    const { clock, random = Math.random } = this.#deps
    const book = this.#book
    const watch = new Watch({
      clock,
      random,
      acquire: () => book.acquire(book.find(key) ?? keep(wanted(), key)),
      giveBack: entry => book.giveBack(entry),
      drop: entry => book.drop(entry),
      idle: () => this.#watches.get(key) === watch && this.#watches.delete(key),
    })
    this.#watches.set(key, watch)
    return watch
  }

  #on(entry: Entry): Watch | undefined {
    return [...this.#watches.values()].find(watch => watch.isOn(entry))
  }

  #count(): number {
    return [...this.#watches.values()].reduce((sum, { size }) => sum + size, 0)
  }
}

/**
 * On a session that is there, whatever was declared to it, or on another under the same key. What all watched on one session of the newer
 * era is watched on one of its own where the upstream went back to sessions for each client.
 */
function keep(wanted: Wanted, key: SessionKey): Wanted {
  return { ...wanted, key: wanted.own && key === SHARED ? Symbol('watched by all') : key }
}
