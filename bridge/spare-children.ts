/** Children that are started in advance for the next calls, and end if no call comes. */
import type { Clock, Timer } from '../core/async.ts'
import type { SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'

export type SpareChildrenOptions = {
  /** Starts a child. */
  begin: () => SupervisedChild
  /** Ends a child that no call took. */
  drop: (child: SupervisedChild) => void
  clock: Clock
  /** Waiting children end this long after the last call. */
  idleAfterMs: number
}

/** Two, so that a call that directly follows another one also gets a child that is ready. */
const SPARES = 2

export class SpareChildren {
  readonly #options: SpareChildrenOptions
  /** Oldest first, because the oldest is ready first. */
  readonly #waiting: SupervisedChild[] = []
  #idle: Timer | undefined

  constructor(options: SpareChildrenOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.length
  }

  /** Takes a waiting child, if any, and starts replacements for the calls that may follow. */
  take(): SupervisedChild | undefined {
    const { begin, clock, idleAfterMs } = this.#options
    const taken = this.#waiting.shift()
    while (this.#waiting.length < SPARES) this.#waiting.push(begin())
    this.#idle?.cancel()
    this.#idle = clock.after(idleAfterMs, () => this.close())
    return taken
  }

  /** Ends the waiting children. */
  close(): void {
    this.#idle?.cancel()
    for (const child of this.#waiting.splice(0)) this.#options.drop(child)
  }
}
