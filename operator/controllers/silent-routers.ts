/** Asks routers that did not answer in time less often, so that waiting for them does not delay the others. */
import type { Clock } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { REPORT_LIMIT_MS } from './router-report.ts'

/** The first pause is at most that between two polls. What a router that answers again does not send is found within the longest one. */
const PAUSE = { firstMs: 2_000, longestMs: 16_000 }
/** Others are asked as often as those that answer. */
const MAX_REMEMBERED = 10_000

export class SilentRouters {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #silent = new BoundedMap<{ failures: number; askAtMs: number }>(MAX_REMEMBERED)

  constructor({ clock, random }: { clock: Clock; random: () => number }) {
    this.#clock = clock
    this.#random = random
  }

  /** What `read` returns; undefined without a call while the router at this address is not to be asked. */
  async ask<T>(address: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const { failures = 0, askAtMs = 0 } = this.#silent.get(address) ?? {}
    const began = this.#clock.elapsed()
    if (began < askAtMs) return undefined
    const answer = await read()
    const now = this.#clock.elapsed()
    // A refused connection takes no time: the router is only starting.
    const isSilent = answer === undefined && now - began >= REPORT_LIMIT_MS
    if (!isSilent) this.#silent.delete(address)
    else {
      const askAtMs = now + backoffMs(PAUSE, failures, this.#random)
      this.#silent.set(address, { failures: failures + 1, askAtMs })
    }
    return answer
  }
  /** Call when a router has sent something: the next poll asks it. */
  heard(address: string): void {
    this.#silent.delete(address)
  }
}
