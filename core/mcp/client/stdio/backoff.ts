/** When something that failed may be tried again: at once after the first failure of a healthy one, then less and less often. */

export const FIRST_DELAY_MS = 500
export const LONGEST_DELAY_MS = 60_000
/** What lived this long was healthy, whatever happened before. */
export const STABLE_MS = 60_000

export type Backoff = {
  /** Failures in a row. */
  readonly failures: number
  /** Milliseconds until the next try is allowed; 0: now. */
  remaining(now: number): number
  /** Counts a failure after `livedMs` in good health (undefined: it never was); returns the delay before the next try. */
  failed(now: number, livedMs: number | undefined): number
  /** It ended as it was told to. */
  endedWell(): void
}

/** `random` gives 0 to 1 and spreads delays by up to a half, so that many that failed together do not return together. */
export function createBackoff(random: () => number): Backoff {
  let failures = 0
  let nextAt = 0
  return {
    get failures() {
      return failures
    },
    remaining: now => Math.max(0, nextAt - now),
    failed(now, livedMs) {
      if (livedMs !== undefined && livedMs >= STABLE_MS) failures = 0
      failures++
      const delay =
        failures === 1 && livedMs !== undefined ? 0 : delayOf(failures, livedMs !== undefined, random())
      nextAt = now + delay
      return delay
    },
    endedWell() {
      failures = 0
    },
  }
}

function delayOf(failures: number, wasHealthy: boolean, random: number): number {
  const doublings = Math.min(failures - (wasHealthy ? 2 : 1), 20)
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** doublings * (1 + random / 2))
}
