/** Detects servers whose manifests were removed. It waits before it reports them, because editors and git remove files for a moment. */
import type { Clock, Timer } from '../../core/async.ts'

/** A server whose manifest comes back within this time does not count as removed. */
export const REMOVED_AFTER_MS = 10 * 60_000

/** Must be closed with `close`; servers that are still missing then are not reported. */
export class RemovedServers {
  readonly #clock: Clock
  readonly #onRemoved: (server: string) => void
  #known = new Set<string>()
  readonly #missing = new Map<string, Timer>()

  constructor(clock: Clock, onRemoved: (server: string) => void) {
    this.#clock = clock
    this.#onRemoved = onRemoved
  }

  /** `servers`: the names of all servers that have a manifest now. */
  update(servers: readonly string[]): void {
    const present = new Set(servers)
    for (const name of present) {
      this.#missing.get(name)?.cancel()
      this.#missing.delete(name)
    }
    for (const name of this.#known) if (!present.has(name)) this.#startTimer(name)
    this.#known = present
  }

  close(): void {
    for (const timer of this.#missing.values()) timer.cancel()
    this.#missing.clear()
  }

  #startTimer(name: string): void {
    const timer = this.#clock.after(REMOVED_AFTER_MS, () => {
      this.#missing.delete(name)
      this.#onRemoved(name)
    })
    this.#missing.set(name, timer)
  }
}
