/** The resources that are watched on one session: each subscribed to once however many watch it, and again on the session after. */

import { type Clock, delay } from '../../../async.ts'
import { deadline, waitFor } from '../../../deadline.ts'
import { Fault } from '../../../errors.ts'
import type { McpResponse, Notification } from '../../protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../../protocol/message.ts'
import { covers, readUpdate } from '../../protocol/resource-update.ts'
import type { Subscription } from '../../upstream.ts'
import type { Session } from './session.ts'
import type { Entry } from './session-book.ts'

const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 60_000
const WATCH_TIMEOUT_MS = 30_000

type Watched = {
  watchers: Set<Subscription>
  taken: Promise<McpResponse>
  /** The session that it was subscribed to on last. */
  on?: Entry
}

export type WatchOptions = {
  clock: Clock
  random: () => number
  /** The session to watch on; `giveBack` follows. */
  acquire: () => Entry
  giveBack: (entry: Entry) => void
  /** The upstream does not know the session any more. */
  drop: (entry: Entry) => void
  /** Nothing is watched any more. */
  idle: () => unknown
}

export class Watch {
  readonly #options: WatchOptions
  readonly #watched = new Map<string, Watched>()
  readonly #end = new AbortController()
  #entry: Entry | undefined
  #resuming = false

  constructor(options: WatchOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#watched.size
  }

  isOn(entry: Entry): boolean {
    return this.#entry === entry
  }

  has(uri: string): boolean {
    return this.#watched.has(uri)
  }

  /** Answers once the upstream took it on; an error that it answers ends it. */
  async add(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    const { uri } = subscription
    let watched = this.#watched.get(uri)
    if (!watched) {
      watched = { watchers: new Set(), taken: this.#take(uri) }
      this.#watched.set(uri, watched)
    }
    watched.watchers.add(subscription)
    const leave = () => this.#leave(subscription)
    try {
      const answer = await waitFor(watched.taken, signal)
      if (answer.error) leave()
      else if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
      return answer
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Takes `notifications/resources/updated`. */
  updated(notification: Notification): void {
    const update = readUpdate(notification)
    if (!update) return
    for (const [whole, watched] of this.#watched) if (covers(whole, update.uri)) tell(watched, update.told)
  }

  /** Changes may have been missed: every resource may be another one. */
  missed(): void {
    for (const [uri, watched] of this.#watched) tell(watched, { method: RESOURCE_UPDATED, params: { uri } })
  }

  close(): void {
    this.#end.abort(new Fault('cancelled', 'The upstream was closed'))
    this.#release()
  }

  async #take(uri: string): Promise<McpResponse> {
    const limit = deadline(this.#options.clock, WATCH_TIMEOUT_MS, 'Not subscribed in time', this.#end.signal)
    try {
      for (let tries = 0; tries < 2; tries++) {
        const entry = this.#hold()
        const session = await waitFor(entry.opening, limit.signal)
        const answer = await session.watch(uri, limit.signal)
        if (answer === 'lost') this.#options.drop(entry)
        else {
          if (!answer.error) this.#taken(uri, entry, session)
          return answer
        }
      }
      throw new Fault('upstream_died', 'The upstream forgets its sessions at once', { retryable: true })
    } finally {
      limit.clear()
    }
  }

  #taken(uri: string, entry: Entry, session: Session): void {
    const watched = this.#watched.get(uri)
    // All who wanted it may be gone again.
    if (watched) watched.on = entry
    else session.unwatch(uri)
  }

  /** The session is kept while anything is watched on it. */
  #hold(): Entry {
    if (this.#entry) return this.#entry
    const entry = this.#options.acquire()
    this.#entry = entry
    entry.onGone = () => {
      if (this.#entry !== entry) return
      this.#release()
      void this.#again()
    }
    return entry
  }

  #release(): void {
    const entry = this.#entry
    this.#entry = undefined
    if (entry) this.#options.giveBack(entry)
  }

  /** Watches on another session what was watched on the one that is gone, however long that takes. */
  async #again(): Promise<void> {
    if (this.#resuming) return
    this.#resuming = true
    const { clock, random } = this.#options
    const { signal } = this.#end
    for (let failures = 0; this.#missing().length > 0 && !signal.aborted; failures++) {
      const longest = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures, 10), MAX_DELAY_MS)
      await delay(clock, longest * (0.5 + random() / 2), signal).catch(() => {})
      if (signal.aborted) return
      await Promise.allSettled(this.#missing().map(uri => this.#take(uri)))
    }
    this.#resuming = false
    this.missed()
  }

  /** What is not subscribed to on a session that is still used. */
  #missing(): string[] {
    const missing = [...this.#watched].filter(([, { on }]) => on?.gone)
    return missing.map(([uri]) => uri)
  }

  #leave(subscription: Subscription): void {
    const { uri } = subscription
    const watched = this.#watched.get(uri)
    if (!watched?.watchers.delete(subscription) || watched.watchers.size > 0) return
    this.#watched.delete(uri)
    if (watched.on === this.#entry) this.#entry?.session?.unwatch(uri)
    if (this.#watched.size > 0) return
    this.#release()
    this.#options.idle()
  }
}

function tell({ watchers }: Watched, notification: Notification): void {
  for (const watcher of watchers) watcher.onUpdate(notification)
}
