/** Keeps an up-to-date copy of all objects that a query selects, by list and watch, and recovers from every failure. */
import { type Clock, delay, systemClock, type Timer } from '../async.ts'
import { backoffMs } from '../backoff.ts'
import { faultOf } from '../deadline.ts'
import type { Log } from '../log.ts'
import { ApiError, isExpired, isNotFound, isRefused } from './api-error.ts'
import type { KubeClient, Query, WatchEvent } from './client.ts'
import { freeze, type KubeObject, keyOf } from './object.ts'

/** The server is asked to end a watch after this time; one that has not ended 10 s later is on a dead connection. */
const WATCH_SECONDS = 60
const SILENCE_MARGIN_MS = 10_000
/** A watch that ends sooner, without an event, is a failure: with a broken proxy, watches would otherwise repeat without delay. */
const MIN_WATCH_MS = 1_000
/** How often an API server that did not know an optional kind is asked again. */
const ABSENT_RETRY_MS = 30_000
const RETRY = { firstMs: 250, longestMs: 10_000 }
/** While failures of one kind continue, one within this time is logged as a warning. */
const WARN_AGAIN_MS = 30_000
/** The durations of watches and resyncs vary by this share, so that replicas do not send their requests at the same time. */
const JITTER = 0.25

/** `before` is undefined for a new object, `now` for a deleted one; in a resync both are the same object. */
export type Listener<T> = (before: T | undefined, now: T | undefined) => void

/** `since`: in milliseconds of the clock's `elapsed`. */
export type Refusal = { since: number; message: string }

export type ListWatchOptions<T = KubeObject> = {
  client: Pick<KubeClient, 'list' | 'watch'>
  query: Query
  log: Log
  /** Reduces an object to the parts that are stored; by default the whole object is. */
  keep?: (object: T) => T
  /** The API server may not know the kind: then there are no objects of it, and it is asked again from time to time. */
  optional?: boolean
  /** How often the listeners are called with every object again; by default never. */
  resyncMs?: number
  clock?: Clock
  random?: () => number
}

/** Objects are frozen. Listeners are called in order, after the change is stored, and their errors are logged. */
export class ListWatch<T extends KubeObject> {
  /** Resolves when every object of the first list is stored and the listeners were called with it; rejects if stopped before. */
  readonly synced: Promise<void>
  readonly #options: ListWatchOptions<T>
  readonly #clock: Clock
  readonly #listeners = new Set<Listener<T>>()
  readonly #objects = new Map<string, T>()
  readonly #syncing = Promise.withResolvers<void>()
  #snapshot: ReadonlyMap<string, T> | undefined
  #isSynced = false
  /** Where the next watch starts; undefined: list first. */
  #resourceVersion: string | undefined
  #failures = 0
  #warned = { reason: '', at: 0 }
  #refusal: Refusal | undefined

  constructor(options: ListWatchOptions<T>) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.synced = this.#syncing.promise
    this.synced.catch(() => {}) // not an unhandled rejection if nobody waits for it
  }

  get isSynced(): boolean {
    return this.#isSynced
  }

  /** Set while the API server answers and refuses our credentials or rights; not while it cannot be reached. */
  get refusal(): Refusal | undefined {
    return this.#refusal
  }

  /** All current objects by key. The returned map does not change later. */
  get objects(): ReadonlyMap<string, T> {
    this.#snapshot ??= new Map(this.#objects)
    return this.#snapshot
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  /** Calls `listener` for every later change; returns a function that removes it. */
  onChange(listener: Listener<T>): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Lists and watches until `signal` aborts; never rejects. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const resync = this.#startResync()
    while (!signal.aborted) {
      try {
        if (this.#resourceVersion === undefined) await this.#list(signal)
        else await this.#watch(this.#resourceVersion, signal)
      } catch (error) {
        if (signal.aborted) break
        await this.#failed(error, signal)
      }
    }
    resync?.cancel()
    this.#syncing.reject(faultOf(signal))
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, query, optional } = this.#options
    const listed = await client.list<T>(query, signal).catch(error => {
      if (!optional || !isNotFound(error)) throw error
      return undefined
    })
    const seen = new Set<string>()
    for (const item of listed?.items ?? []) {
      seen.add(keyOf(item))
      this.#tryPut(item)
    }
    for (const key of [...this.#objects.keys()]) if (!seen.has(key)) this.#remove(key)
    this.#resourceVersion = listed?.resourceVersion
    this.#isSynced = true
    this.#refusal = undefined
    this.#syncing.resolve()
    if (!listed) await delay(this.#clock, ABSENT_RETRY_MS, signal)
  }

  /** Runs one watch from its start to its end. */
  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const timeoutSeconds = Math.round(WATCH_SECONDS * this.#jitter())
    const started = this.#clock.elapsed()
    const silent = new AbortController()
    const limitMs = timeoutSeconds * 1_000 + SILENCE_MARGIN_MS
    const timer = this.#clock.after(limitMs, () => silent.abort(silence(limitMs)))
    const both = AbortSignal.any([signal, silent.signal])
    let received = false
    try {
      const options = { resourceVersion, timeoutSeconds }
      for await (const event of this.#options.client.watch<T>(this.#options.query, options, both)) {
        received = true
        this.#recovered()
        this.#take(event)
      }
    } finally {
      timer.cancel()
    }
    if (!received && this.#clock.elapsed() - started < MIN_WATCH_MS)
      throw new ApiError(0, 'Unreachable', 'The watch ended as soon as it began')
    this.#recovered()
  }

  #take({ type, object }: WatchEvent<T>): void {
    if (type === 'DELETED') this.#remove(keyOf(object))
    else if (type !== 'BOOKMARK') this.#tryPut(object)
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion
  }

  /** An object that cannot be stored, which is a bug, does not stop the others of its kind. */
  #tryPut(object: T): void {
    try {
      this.#put(object)
    } catch (error) {
      const { kind } = this.#options.query
      const { namespace, name } = object.metadata
      this.#options.log.error({ kind, namespace, name, err: error }, 'an object could not be stored')
    }
  }

  #put(object: T): void {
    const key = keyOf(object)
    const before = this.#objects.get(key)
    const { uid, resourceVersion } = object.metadata
    if (before && before.metadata.uid === uid && before.metadata.resourceVersion === resourceVersion) return
    const now = freeze(this.#options.keep?.(object) ?? object)
    this.#objects.set(key, now)
    this.#snapshot = undefined
    this.#notify(before, now)
  }

  #remove(key: string): void {
    const before = this.#objects.get(key)
    if (!before) return
    this.#objects.delete(key)
    this.#snapshot = undefined
    this.#notify(before, undefined)
  }

  #notify(before: T | undefined, now: T | undefined): void {
    for (const listener of this.#listeners) {
      try {
        listener(before, now)
      } catch (error) {
        this.#options.log.error({ err: error, kind: this.#options.query.kind }, 'a listener failed')
      }
    }
  }

  /** Waits before the next attempt: longer each time, and at least as long as the server's Retry-After. */
  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    const isGone = this.#options.optional === true && isNotFound(error)
    // After a refusal too: a list shows at once that it is over, a quiet watch only when it ends.
    if (isGone || isExpired(error) || isRefused(error)) this.#resourceVersion = undefined
    this.#refusal = isRefused(error)
      ? { since: this.#refusal?.since ?? this.#clock.elapsed(), message: error.message }
      : undefined
    const backoff = backoffMs(RETRY, this.#failures, this.#options.random ?? Math.random)
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.round(Math.max(backoff, asked))
    this.#logFailure(error, waitMs)
    this.#failures++
    await delay(this.#clock, waitMs, signal).catch(() => {})
  }

  /** Warns about the first of consecutive failures of a kind, and again from time to time. Anything but an ApiError is a bug. */
  #logFailure(error: unknown, waitMs: number): void {
    const { query, log } = this.#options
    const { kind, namespace } = query
    if (error instanceof ApiError) {
      const fields = { kind, namespace, reason: error.reason, error: error.message, waitMs }
      const now = this.#clock.elapsed()
      const isKnown = this.#failures > 0 && this.#warned.reason === error.reason
      const isDue = !isKnown || now - this.#warned.at >= WARN_AGAIN_MS
      if (isDue) this.#warned = { reason: error.reason, at: now }
      log[isDue ? 'warn' : 'debug'](fields, 'watch interrupted')
    } else {
      log.error({ kind, namespace, err: error, waitMs }, 'watch failed')
    }
  }

  #recovered(): void {
    if (this.#failures > 0) this.#options.log.info({ kind: this.#options.query.kind }, 'watch recovered')
    this.#failures = 0
  }

  #startResync(): Timer | undefined {
    const { resyncMs } = this.#options
    if (resyncMs === undefined) return undefined
    let timer: Timer
    const next = () => {
      timer = this.#clock.after(resyncMs * this.#jitter(), () => {
        for (const object of this.objects.values()) this.#notify(object, object)
        next()
      })
    }
    next()
    return { cancel: () => timer.cancel() }
  }

  #jitter(): number {
    const random = this.#options.random ?? Math.random
    return 1 + JITTER * (2 * random() - 1)
  }
}

function silence(ms: number): ApiError {
  return new ApiError(
    0,
    'Silent',
    `The watch did not end within ${ms / 1_000} s, so its connection is probably dead`,
  )
}
