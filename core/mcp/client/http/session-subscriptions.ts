/** The resource subscriptions at one upstream, by session key. */
import { waitFor } from '../../../deadline.ts'
import type { McpResponse } from '../../protocol/json-rpc.ts'
import type { Subscription } from '../../upstream.ts'
import { ResourceSubscriptions, type SubscribableSession } from '../resource-subscriptions.ts'
import type { Entry, SessionBook, SessionKey, Wanted } from './session-book.ts'
import { SHARED } from './session-key.ts'
import type { RemoteDeps } from './spec.ts'

export class SessionSubscriptions {
  readonly #book: SessionBook
  readonly #deps: RemoteDeps
  readonly #byKey = new Map<SessionKey, ResourceSubscriptions>()

  constructor(book: SessionBook, deps: RemoteDeps) {
    this.#book = book
    this.#deps = deps
  }

  /** As Upstream.subscribe; `wanted` selects the session. */
  subscribe(subscription: Subscription, wanted: () => Wanted, signal: AbortSignal): Promise<McpResponse> {
    const { key } = wanted()
    const subscriptions = this.#byKey.get(key) ?? this.#create(key, wanted)
    return subscriptions.subscribe(subscription, signal)
  }

  forget(client: string): void {
    this.#byKey.get(client)?.close()
  }

  close(): void {
    for (const subscriptions of this.#byKey.values()) subscriptions.close()
  }

  #create(key: SessionKey, wanted: () => Wanted): ResourceSubscriptions {
    const book = this.#book
    let held: Entry | undefined
    // The session is acquired once for all resources.
    const hold = (): Entry => {
      held ??= book.hold(book.find(key) ?? keep(wanted(), key))
      held.subscriptions = subscriptions
      return held
    }
    const release = (): void => {
      const entry = held
      held = undefined
      if (entry) book.letGo(entry)
      if (subscriptions.size === 0 && this.#byKey.get(key) === subscriptions) this.#byKey.delete(key)
    }
    const session: SubscribableSession = {
      async subscribe(uri, signal) {
        const entry = hold()
        const answer = await (await waitFor(entry.opening, signal)).subscribe(uri, signal)
        if (answer === 'lost') book.drop(entry)
        return answer
      },
      unsubscribe: uri => held?.session?.unsubscribe(uri),
    }
    const subscriptions = new ResourceSubscriptions({ ...this.#deps, session, release })
    this.#byKey.set(key, subscriptions)
    return subscriptions
  }
}

/**
 * Keeps the key of the subscriptions when a new session is opened. Exception: the shared 2026 session, if the upstream went back to one
 * session for each client; its subscriptions then get a session of their own.
 */
function keep(wanted: Wanted, key: SessionKey): Wanted {
  return { ...wanted, key: wanted.own && key === SHARED ? Symbol('subscribed by all') : key }
}
