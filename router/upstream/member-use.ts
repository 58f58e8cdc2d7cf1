/** Whether anything uses a server through this router, and for how long nothing has. */
import type { Clock } from '../../core/async.ts'
import type { PoolMemberStatus } from './pool-member.ts'

export class MemberUse {
  readonly #clock: Clock
  #held = 0
  #subscriptions = 0
  #usedAtMs: number

  /** A new member counts as used just now: the calls of the one that it replaces are not known here. */
  constructor(clock: Clock) {
    this.#clock = clock
    this.#usedAtMs = clock.elapsed()
  }

  /** A call has ended. */
  ended(): void {
    this.#usedAtMs = this.#clock.elapsed()
  }

  /** Counts a call or subscription as use while `waiting`, its wait for the server to be woken, is pending. */
  async held(waiting: Promise<void>): Promise<void> {
    this.#held++
    try {
      await waiting
    } finally {
      this.#held--
      this.ended()
    }
  }

  /** The server is in use until `signal` aborts. */
  subscribed(signal: AbortSignal): void {
    if (signal.aborted) return
    this.#subscriptions++
    const end = () => {
      this.#subscriptions--
      this.ended()
    }
    signal.addEventListener('abort', end, { once: true })
  }

  /** `calls`: those that were let in or wait for a slot. */
  status(
    calls: number,
    sessions: number,
  ): Pick<PoolMemberStatus, 'held' | 'subscriptions' | 'sessions' | 'idleMs'> {
    const isUsed = calls + this.#held + this.#subscriptions + sessions > 0
    if (isUsed) this.ended()
    return {
      held: this.#held || undefined,
      subscriptions: this.#subscriptions || undefined,
      sessions: sessions || undefined,
      idleMs: isUsed ? undefined : this.#clock.elapsed() - this.#usedAtMs,
    }
  }
}
