/** The open and opening sessions of one upstream, by key, bounded in number. */
import type { Clock, Timer } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { JsonObject } from '../../../json.ts'
import type { Era } from '../../protocol/revisions.ts'
import { DISCOVERY_CLIENT } from '../../upstream.ts'
import type { ResourceSubscriptions } from '../resource-subscriptions.ts'
import type { Session } from './session.ts'

const MAX_SESSIONS = 256
const IDLE_MS = 5 * 60_000

/** The key of a session; a symbol for a session that serves one call only. */
export type SessionKey = string | symbol

export type Wanted = {
  key: SessionKey
  /** The capabilities to declare in the handshake. */
  capabilities: JsonObject
  /** The `capabilityCode` of the capabilities. */
  declared: string
  /** Whether it belongs to one client or one call; then it is closed when idle. */
  own: boolean
  prefers: Era
}

export type Entry = Wanted & {
  opening: Promise<Session>
  /** Set once it is open. */
  session?: Session
  /** Calls and subscriptions that use it or wait for it. */
  busy: number
  /** The subscriptions among them: they last, without a request in flight. */
  holds: number
  idle?: Timer
  /** Since when it has got only answers of a server or proxy that is busy. */
  refusedAt?: number
  /** Removed: no new call gets it. */
  gone: boolean
  /** The subscriptions that use it. */
  subscriptions?: ResourceSubscriptions
}

export type BookOptions = {
  clock: Clock
  /** After this time without use, the session of a client ends. Default: five minutes. */
  idleMs?: number
  /** Opens the session of an entry and sets `entry.session`. */
  open: (entry: Entry) => Promise<Session>
}

export class SessionBook {
  readonly #options: BookOptions
  readonly #idleMs: number
  /** The least recently used first. */
  readonly #entries = new Map<SessionKey, Entry>()

  constructor(options: BookOptions) {
    this.#options = options
    this.#idleMs = options.idleMs ?? IDLE_MS
  }

  /** The session of a key, opened if there is none with these capabilities; `release` must follow. Throws Fault upstream_busy. */
  acquire(wanted: Wanted): Entry {
    const { key } = wanted
    let entry = this.#entries.get(key)
    if (entry && entry.declared !== wanted.declared) {
      this.retire(entry)
      entry = undefined
    }
    entry ??= this.#begin(wanted)
    entry.busy++
    if (!entry.own) return entry
    entry.idle?.cancel()
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Ends a use that `acquire` began. A removed session is closed after its last use; one that is not shared, when it is idle. */
  release(entry: Entry): void {
    entry.busy--
    if (entry.busy > 0) return
    if (entry.gone) close(entry)
    else if (!entry.own) return
    else if (typeof entry.key === 'symbol') this.drop(entry)
    else entry.idle = this.#options.clock.after(this.#idleMs, () => this.drop(entry))
  }

  /** As `acquire`, for subscriptions; `letGo` must follow. */
  hold(wanted: Wanted): Entry {
    const entry = this.acquire(wanted)
    entry.holds++
    return entry
  }

  letGo(entry: Entry): void {
    entry.holds--
    this.release(entry)
  }

  /** Returns the entry of a key without acquiring it. */
  find(key: SessionKey): Entry | undefined {
    return this.#entries.get(key)
  }

  /** Whether any session has calls in flight. */
  isBusy(): boolean {
    return this.#entries.values().some(({ busy, holds }) => busy > holds)
  }

  /** The number of sessions that belong to a single client. */
  ofClients(): number {
    return this.#entries
      .values()
      .filter(({ own, key }) => own && typeof key === 'string' && key !== DISCOVERY_CLIENT)
      .reduce(count => count + 1, 0)
  }

  /** Changes the key of a session, unless the new key is in use. */
  moveTo(entry: Entry, { key, capabilities, declared }: Wanted): void {
    if (entry.gone || this.#entries.has(key)) return
    this.#entries.delete(entry.key)
    Object.assign(entry, { key, capabilities, declared })
    this.#entries.set(key, entry)
  }

  /** Drops the session of a client that went away. */
  forget(client: string): void {
    const entry = this.#entries.get(client)
    if (entry?.own) this.drop(entry)
  }

  /** Removes and closes the session at once. */
  drop(entry: Entry): void {
    this.#remove(entry)
    close(entry)
  }

  /** Drops the sessions of the 2026 era: they all depend on one upstream state, which is lost. */
  dropModern(): void {
    for (const entry of [...this.#entries.values()])
      if (entry.session?.info.era === 'modern') this.drop(entry)
  }

  /** Drops all, and waits until the open ones are closed. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    for (const entry of entries) this.drop(entry)
    await Promise.allSettled(entries.map(entry => entry.session?.close()))
  }

  /** Removes the session, and closes it once its calls in flight are done. */
  retire(entry: Entry): void {
    this.#remove(entry)
    if (entry.busy === 0) close(entry)
  }

  #remove(entry: Entry): void {
    if (entry.gone) return
    entry.gone = true
    entry.idle?.cancel()
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key)
    entry.subscriptions?.lost()
  }

  #begin(wanted: Wanted): Entry {
    this.#makeRoom()
    // `open` uses the entry before it returns the session's promise.
    const { promise, resolve, reject } = Promise.withResolvers<Session>()
    const entry: Entry = {
      ...{ ...wanted, opening: promise, session: undefined, refusedAt: undefined },
      ...{ busy: 0, holds: 0, gone: false },
    }
    this.#entries.set(wanted.key, entry)
    promise.catch(() => this.drop(entry))
    this.#options.open(entry).then(resolve, reject)
    return entry
  }

  #makeRoom(): void {
    if (this.#entries.size < MAX_SESSIONS) return
    const idle = [...this.#entries.values()].find(entry => entry.busy === 0)
    const details = { sessions: MAX_SESSIONS }
    if (!idle)
      throw new Fault('upstream_busy', `All ${MAX_SESSIONS} sessions are in use`, {
        retryable: true,
        details,
      })
    this.drop(idle)
  }
}

function close(entry: Entry): void {
  void entry.opening.then(session => session.close()).catch(() => {})
}
