/** Pool members that were replaced or are no longer needed, until their calls in flight are done. */
import type { PoolMember } from './pool-member.ts'

/** The longest time for which a replaced upstream is kept for its calls in flight. */
const MAX_RETIREMENT_MS = 5 * 60_000

export class Retiring {
  readonly #members = new Set<PoolMember>()

  readonly add = (member: PoolMember): void => {
    this.#members.add(member)
    // A person who answers a question has more time than a call.
    const withinMs = member.status().asking ? MAX_RETIREMENT_MS : member.server.limits.callTimeoutMs
    void member
      .retire(Math.min(withinMs, MAX_RETIREMENT_MS))
      // Errors while closing are ignored: all calls have been answered by then.
      .catch(() => {})
      .finally(() => this.#members.delete(member))
  }

  /** Closes all at once. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#members].map(member => member.retire(0)))
  }
}
