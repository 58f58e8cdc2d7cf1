/** Heartbeats on streams that may be silent for long, so that no proxy closes them as idle. */
import type { Clock, Timer } from '../../async.ts'

export const HEARTBEAT_MS = 15_000

export class Heartbeats {
  readonly #clock: Clock
  readonly #beats = new Set<() => void>()
  #timer: Timer | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `beat` every 15 s or sooner, until the returned function is called. */
  add(beat: () => void): () => void {
    // A new function for each call: the same stream may be added more than once.
    const entry = () => beat()
    this.#beats.add(entry)
    this.#timer ??= this.#later()
    return () => {
      this.#beats.delete(entry)
      if (this.#beats.size > 0) return
      this.#timer?.cancel()
      this.#timer = undefined
    }
  }

  #later(): Timer {
    return this.#clock.after(HEARTBEAT_MS, () => {
      this.#timer = this.#later()
      for (const beat of [...this.#beats]) beat()
    })
  }
}
