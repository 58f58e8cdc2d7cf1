/** When a failed child may be started again: at once after the first failure of a healthy one, then with growing delays. */
import { backoffMs } from '../../../backoff.ts'

export const RESTART = { firstMs: 1_000, longestMs: 60_000 }
/** A child that ran this long counts as healthy; earlier failures are forgotten. */
export const STABLE_MS = 60_000

/** `now`: milliseconds of a clock's `elapsed`. */
export type RestartBackoff = {
  /** Failures in a row. */
  readonly failures: number
  /** Milliseconds until the next try is allowed; 0: now. */
  remaining(now: number): number
  /** Counts a failure after `livedMs` of being ready (undefined: it never was); returns the delay before the next start in ms. */
  failed(now: number, livedMs: number | undefined): number
  /** The child was stopped on purpose, or has served its only call: forgets earlier failures. */
  reset(): void
}

/** `random` returns 0 to 1. */
export function createRestartBackoff(random: () => number): RestartBackoff {
  let failures = 0
  let nextAt = 0
  return {
    get failures() {
      return failures
    },
    remaining(now) {
      return Math.max(0, nextAt - now)
    },
    failed(now, livedMs) {
      if (livedMs !== undefined && livedMs >= STABLE_MS) failures = 0
      failures++
      const immediateRestarts = livedMs === undefined ? 0 : 1
      const delay =
        failures > immediateRestarts ? backoffMs(RESTART, failures - immediateRestarts - 1, random) : 0
      nextAt = now + delay
      return delay
    },
    reset() {
      failures = 0
    },
  }
}
