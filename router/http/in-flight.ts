/** The exchanges that are not answered yet: to be cancelled by their callers, and waited for at the end. */
import type { ServerResponse } from 'node:http'
import { type Clock, delay } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import { Exchange } from './exchange.ts'

/** What an aborted call may still take to be answered. */
const LAST_WORDS_MS = 500
const NO_HEADERS: readonly string[] = []

export class InFlight {
  readonly #exchanges = new Set<Exchange>()
  readonly #byKey = new Map<string, Exchange>()
  #whenIdle: (() => void) | undefined

  get size(): number {
    return this.#exchanges.size
  }

  /**
   * Begins an exchange and keeps it until its answer is sent or its caller gone. `key` names the caller and its request
   * id, where they are known: what `cancel` takes. `headers` go into the answer's head.
   */
  open(raw: ServerResponse, key: string | undefined, headers: readonly string[] = NO_HEADERS): Exchange {
    const exchange = new Exchange(raw, headers, closed => this.#forget(closed, key))
    this.#exchanges.add(exchange)
    if (key !== undefined) this.#byKey.set(key, exchange)
    return exchange
  }

  #forget(exchange: Exchange, key: string | undefined): void {
    this.#exchanges.delete(exchange)
    if (key !== undefined && this.#byKey.get(key) === exchange) this.#byKey.delete(key)
    if (this.#exchanges.size === 0) this.#whenIdle?.()
  }

  cancel(key: string): void {
    this.#byKey.get(key)?.cancel()
  }

  /** Waits until all is answered; after `limitMs` the rest is aborted and has a moment for its answers. */
  async drain(limitMs: number, clock: Clock): Promise<void> {
    await this.#idle(limitMs, clock)
    for (const exchange of this.#exchanges) {
      exchange.abort(new Fault('cancelled', 'The gateway is shutting down.', { retryable: true }))
    }
    await this.#idle(LAST_WORDS_MS, clock)
  }

  async #idle(limitMs: number, clock: Clock): Promise<void> {
    if (this.#exchanges.size === 0) return
    const done = new AbortController()
    const idle = new Promise<void>(resolve => {
      this.#whenIdle = resolve
    })
    await Promise.race([idle, delay(clock, limitMs, done.signal).catch(() => {})])
    done.abort()
    this.#whenIdle = undefined
  }
}
