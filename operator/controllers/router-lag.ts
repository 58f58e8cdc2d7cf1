/** Finds routers that have served an old generation for too long. */

/** Routers load a change in well under a second. */
const OVERDUE_MS = 30_000

/** `missed`: the generation that was the newest when the router was first seen behind. */
type Behind = { missed: number; since: number }

export class RouterLag {
  readonly #behind = new Map<string, Behind>()

  /** Records the generation that a router serves. Returns the one that it should have loaded long ago, if any. */
  overdue(pod: string, generation: number, newest: number, now: number): number | undefined {
    const last = this.#behind.get(pod)
    if (last && generation < last.missed) return now - last.since >= OVERDUE_MS ? last.missed : undefined
    // A router that loads frequent changes may always be behind the newest generation, but never behind the same one for long.
    if (generation < newest) this.#behind.set(pod, { missed: newest, since: now })
    else this.#behind.delete(pod)
    return undefined
  }

  /** Forgets all other routers. */
  keep(pods: readonly string[]): void {
    for (const pod of this.#behind.keys()) if (!pods.includes(pod)) this.#behind.delete(pod)
  }
}
