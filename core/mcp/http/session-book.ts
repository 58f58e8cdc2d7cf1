/** The sessions of one upstream that are open or being opened: one for all, or one for each client, bounded. */
import type { Clock, Timer } from '../../async.ts'
import { Fault } from '../../errors.ts'
import type { Session } from './session.ts'

const MAX_CLIENT_SESSIONS = 256
const CLIENT_IDLE_MS = 5 * 60_000
const SHARED = ''

export type Entry = {
  /** The client's key; a symbol where the session is for one call only. */
  readonly key: string | symbol
  opening: Promise<Session>
  /** Set once it is open. */
  session?: Session
  /** Calls that use it or wait for it. */
  busy: number
  idle?: Timer
  /** Not given out any more. */
  gone: boolean
}

export type BookOptions = {
  clock: Clock
  shared: boolean
  /** Opens the session of an entry and sets `entry.session`. */
  open: (entry: Entry) => Promise<Session>
}

export class SessionBook {
  readonly #options: BookOptions
  /** The least recently used first. */
  readonly #entries = new Map<string | symbol, Entry>()

  constructor(options: BookOptions) {
    this.#options = options
  }

  /** The client's session, opened where it is not; `giveBack` must follow. Throws Fault upstream_busy. */
  acquire(client: string | undefined): Entry {
    const key = this.#options.shared ? SHARED : (client ?? Symbol('one call'))
    const entry = this.#entries.get(key) ?? this.#begin(key)
    entry.busy++
    if (key === SHARED) return entry
    entry.idle?.cancel()
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  giveBack(entry: Entry): void {
    entry.busy--
    if (entry.busy > 0 || entry.gone || entry.key === SHARED) return
    if (typeof entry.key === 'symbol') this.drop(entry)
    else entry.idle = this.#options.clock.after(CLIENT_IDLE_MS, () => this.drop(entry))
  }

  /** Drops the session of a client that went away. */
  forget(client: string): void {
    const entry = this.#options.shared ? undefined : this.#entries.get(client)
    if (entry) this.drop(entry)
  }

  /** Gives the session out no more, and closes it. */
  drop(entry: Entry): void {
    entry.gone = true
    entry.idle?.cancel()
    if (this.#entries.get(entry.key) === entry) this.#entries.delete(entry.key)
    void entry.opening.then(session => session.close()).catch(() => {})
  }

  /** Drops all, and waits until those that were open are closed. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    for (const entry of entries) this.drop(entry)
    await Promise.allSettled(entries.map(entry => entry.session?.close()))
  }

  #begin(key: string | symbol): Entry {
    this.#makeRoom()
    // `open` sees the entry before it returns the promise of its session.
    const { promise, resolve, reject } = Promise.withResolvers<Session>()
    const entry: Entry = { key, opening: promise, busy: 0, gone: false }
    this.#entries.set(key, entry)
    promise.catch(() => this.drop(entry))
    this.#options.open(entry).then(resolve, reject)
    return entry
  }

  #makeRoom(): void {
    if (this.#entries.size < MAX_CLIENT_SESSIONS) return
    const idle = [...this.#entries.values()].find(entry => entry.busy === 0)
    if (!idle)
      throw new Fault('upstream_busy', `All ${MAX_CLIENT_SESSIONS} sessions are in use`, { retryable: true })
    this.drop(idle)
  }
}
