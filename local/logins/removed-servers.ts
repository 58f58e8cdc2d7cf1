/** Servers whose manifests were removed: what is kept of them goes after a while, because editors and checkouts take files away for a moment. */
import type { Clock, Timer } from '../../core/async.ts'

/** A manifest that comes back within this time was never away. */
export const REMOVED_AFTER_MS = 10 * 60_000

/** Must be closed with `close`; what waits then stays. */
export class RemovedServers {
  readonly #clock: Clock
  readonly #onRemoved: (server: string) => void
  #known = new Set<string>()
  readonly #missing = new Map<string, Timer>()

  constructor(clock: Clock, onRemoved: (server: string) => void) {
    this.#clock = clock
    this.#onRemoved = onRemoved
  }

  /** `servers`: the names of all that there are manifests of now. */
  see(servers: readonly string[]): void {
    const present = new Set(servers)
    for (const name of present) {
      this.#missing.get(name)?.cancel()
      this.#missing.delete(name)
    }
    for (const name of this.#known) if (!present.has(name)) this.#await(name)
    this.#known = present
  }

  close(): void {
    for (const timer of this.#missing.values()) timer.cancel()
    this.#missing.clear()
  }

  #await(name: string): void {
    const timer = this.#clock.after(REMOVED_AFTER_MS, () => {
      this.#missing.delete(name)
      this.#onRemoved(name)
    })
    this.#missing.set(name, timer)
  }
}
