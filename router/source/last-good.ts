/** Reads a value for each key in the wanted version, retries until it succeeds, and keeps the last good value meanwhile. */
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { Fault } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'

const MAX_READS = 16
const RETRY = { firstMs: 250, longestMs: 10_000 }

export type LastGoodOptions<Value> = {
  /** What the values are, for the log. */
  what: string
  /** `known` is the last good value, to be returned if it equals what would be read. */
  read: (key: string, version: string, known: Value | undefined, signal: AbortSignal) => Promise<Value>
  /** Called whenever a value was read, or failed for the first time. */
  onProgress: () => void
  log: Log
  clock: Clock
  random?: () => number
}

type Entry<Value> = {
  wanted: string
  /** The version of `value`. */
  loaded?: string
  value?: Value
  /** Failed attempts to read the wanted version. */
  failures: number
  stop: AbortController
}

export class LastGood<Value> {
  readonly #options: LastGoodOptions<Value>
  readonly #entries = new Map<string, Entry<Value>>()
  readonly #line: (() => void)[] = []
  #reading = 0

  constructor(options: LastGoodOptions<Value>) {
    this.#options = options
  }

  /** Sets the wanted keys, each with its version; all others are forgotten. */
  want(versions: ReadonlyMap<string, string>): void {
    for (const [key, entry] of this.#entries) {
      if (versions.has(key)) continue
      entry.stop.abort()
      this.#entries.delete(key)
    }
    for (const [key, wanted] of versions) {
      const last = this.#entries.get(key)
      if (last?.wanted === wanted) continue
      last?.stop.abort()
      const entry: Entry<Value> = { ...last, wanted, failures: 0, stop: new AbortController() }
      this.#entries.set(key, entry)
      if (entry.loaded !== wanted) void this.#read(key, entry)
    }
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value
  }

  /** Keys whose wanted version was not read yet, sorted. */
  missing(): string[] {
    const missing = [...this.#entries].filter(([, { loaded, wanted }]) => loaded !== wanted)
    return missing.map(([key]) => key).sort()
  }

  /** Whether any first attempt to read a wanted version is still in progress. */
  trying(): boolean {
    return [...this.#entries.values()].some(
      ({ loaded, wanted, failures }) => loaded !== wanted && failures === 0,
    )
  }

  /** Stops all reading. */
  close(): void {
    for (const { stop } of this.#entries.values()) stop.abort()
  }

  async #read(key: string, entry: Entry<Value>): Promise<void> {
    const { read, clock, random = Math.random, onProgress } = this.#options
    const { signal } = entry.stop
    while (!signal.aborted) {
      try {
        const value = await this.#inTurn(signal, () => read(key, entry.wanted, entry.value, signal))
        if (signal.aborted) return
        Object.assign(entry, { value, loaded: entry.wanted })
        return onProgress()
      } catch (error) {
        if (signal.aborted) return
        if (entry.failures++ === 0) this.#failedFirst(key, error)
      }
      await delay(clock, backoffMs(RETRY, entry.failures - 1, random), signal).catch(() => {})
    }
  }

  /** Logs one line for a series of failures. An error that is not a Fault is a bug. */
  #failedFirst(key: string, error: unknown): void {
    const { log, what, onProgress } = this.#options
    if (error instanceof Fault) log.warn({ key, error: error.message }, `${what} not read yet`)
    else log.error({ key, err: error }, `${what} not read`)
    onProgress()
  }

  /** Runs `work` once fewer than MAX_READS others are running. */
  async #inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#reading < MAX_READS) this.#reading++
    else await new Promise<void>(resolve => this.#line.push(resolve))
    try {
      signal.throwIfAborted()
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#reading--
    }
  }
}
