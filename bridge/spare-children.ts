/** One child that waits for the next call, and ends when none comes. */
import type { Clock, Timer } from '../core/async.ts'
import type { Life } from '../core/mcp/stdio/life.ts'

export type SpareChildOptions = {
  begin: () => Life
  drop: (life: Life) => void
  clock: Clock
  idleAfterMs: number
}

export class SpareChild {
  readonly #options: SpareChildOptions
  #waiting: { life: Life; idle: Timer } | undefined

  constructor(options: SpareChildOptions) {
    this.#options = options
  }

  /** The child that waits, where there is one; another one takes its place: where there is one call there may be more. */
  take(): Life | undefined {
    const { begin, clock, idleAfterMs } = this.#options
    const taken = this.#waiting
    taken?.idle.cancel()
    this.#waiting = { life: begin(), idle: clock.after(idleAfterMs, () => this.close()) }
    return taken?.life
  }

  close(): void {
    this.#waiting?.idle.cancel()
    if (this.#waiting) this.#options.drop(this.#waiting.life)
    this.#waiting = undefined
  }
}
