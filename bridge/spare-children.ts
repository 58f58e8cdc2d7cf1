/** Children that wait for the next calls, and end when none come. */
import type { Clock, Timer } from '../core/async.ts'
import type { SupervisedChild } from '../core/mcp/client/stdio/supervised-child.ts'

export type SpareChildrenOptions = {
  begin: () => SupervisedChild
  drop: (life: SupervisedChild) => void
  clock: Clock
  idleAfterMs: number
}

/** One is taken while the next one starts: calls that follow each other at once find a child that is up. */
const SPARES = 2

export class SpareChildren {
  readonly #options: SpareChildrenOptions
  /** The oldest first: it is the first to be up. */
  readonly #waiting: SupervisedChild[] = []
  #idle: Timer | undefined

  constructor(options: SpareChildrenOptions) {
    this.#options = options
  }

  /** A child that waits, where there is one; others take its place: where there is one call there may be more. */
  take(): SupervisedChild | undefined {
    const { begin, clock, idleAfterMs } = this.#options
    const taken = this.#waiting.shift()
    while (this.#waiting.length < SPARES) this.#waiting.push(begin())
    this.#idle?.cancel()
    this.#idle = clock.after(idleAfterMs, () => this.close())
    return taken
  }

  close(): void {
    this.#idle?.cancel()
    for (const life of this.#waiting.splice(0)) this.#options.drop(life)
  }
}
