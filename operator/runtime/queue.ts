/** The work queue of a controller: each key is queued once, never handed out twice at a time, and retried with backoff. */
import { type Clock, systemClock, type Timer } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'

/** Bounds of the backoff of failed keys. */
export const RETRY = { firstMs: 200, longestMs: 2 * 60_000 }

export type QueueOptions = { clock?: Clock; random?: () => number }

/** A key that is due later: one entry per key, the earliest. */
type Delayed = { at: number; timer: Timer }

/**
 * `next` hands out a key for processing, and `done` ends its processing. A key that is added while it is processed is queued again after
 * `done`. A key that is already queued is not added twice.
 */
export class Queue {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #ready = new Set<string>()
  readonly #processing = new Set<string>()
  /** Keys that were added while they were processed. */
  readonly #again = new Set<string>()
  readonly #delayed = new Map<string, Delayed>()
  readonly #failures = new Map<string, number>()
  /** Calls of `next` that wait for a key. */
  readonly #takers = new Set<(key: string) => void>()

  constructor({ clock = systemClock, random = Math.random }: QueueOptions = {}) {
    this.#clock = clock
    this.#random = random
  }

  /** How many keys are due and not being processed. */
  get depth(): number {
    return this.#ready.size + this.#again.size
  }

  /** How often a key was added by `addRateLimited` since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /** Queues a key at once; see Queue for one that is queued or processed already. */
  add(key: string): void {
    if (this.#processing.has(key)) {
      this.#again.add(key)
      return
    }
    const [taker] = this.#takers
    if (!taker) {
      this.#ready.add(key)
      return
    }
    this.#takers.delete(taker)
    this.#processing.add(key)
    taker(key)
  }

  /** Adds a key after `ms`; if it is already scheduled, the earlier time counts. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) {
      this.add(key)
      return
    }
    const at = this.#clock.elapsed() + ms
    const waiting = this.#delayed.get(key)
    if (waiting && waiting.at <= at) return
    waiting?.timer.cancel()
    const timer = this.#clock.after(ms, () => {
      this.#delayed.delete(key)
      this.add(key)
    })
    this.#delayed.set(key, { at, timer })
  }

  /** Adds a failed key with exponential backoff, at least `atLeastMs` from now. */
  addRateLimited(key: string, atLeastMs = 0): void {
    const failures = this.failures(key)
    this.#failures.set(key, failures + 1)
    this.addAfter(key, Math.max(backoffMs(RETRY, failures, this.#random), atLeastMs))
  }

  /** Resets the backoff of a key. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** The next key, which is processed until `done`; undefined once `signal` aborts. */
  next(signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    const [key] = this.#ready
    if (key !== undefined) {
      this.#ready.delete(key)
      this.#processing.add(key)
      return Promise.resolve(key)
    }
    return new Promise(resolve => {
      const take = (key: string) => {
        signal.removeEventListener('abort', leave)
        resolve(key)
      }
      const leave = () => {
        this.#takers.delete(take)
        resolve(undefined)
      }
      this.#takers.add(take)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** Ends the processing of a key. */
  done(key: string): void {
    this.#processing.delete(key)
    if (this.#again.delete(key)) this.add(key)
  }
}
