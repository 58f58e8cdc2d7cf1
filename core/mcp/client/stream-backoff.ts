/** The delays before a stream that a server ended is opened again. */
import { backoffMs } from '../../backoff.ts'

const RETRY = { firstMs: 1_000, longestMs: 60_000 }

export class StreamBackoff {
  readonly #random: () => number
  /** Streams in a row that failed, or ended before they had lasted. */
  #endedEarly = 0
  #waitMs = 0

  /** `random` returns 0 to 1, for the jitter. */
  constructor(random: () => number) {
    this.#random = random
  }

  /**
   * The delay in milliseconds. `lastedMs`: how long the stream was in use, with or without messages; undefined if the server refused it.
   * The delays start anew only after a stream that lasted longer than the delay before it, so that a server that ends each stream at once is
   * not asked all the time.
   */
  nextMs(lastedMs: number | undefined): number {
    if (lastedMs !== undefined && lastedMs > this.#waitMs) this.#endedEarly = 0
    this.#waitMs = backoffMs(RETRY, this.#endedEarly++, this.#random)
    return this.#waitMs
  }
}
