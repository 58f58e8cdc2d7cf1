/** Waits for a state, never for time to pass. */
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 150
const LIMIT_MS = 120_000

/**
 * Probes until the answer is neither undefined nor false, and resolves with it. A probe that throws is tried again; the error of a timeout
 * contains what it threw last.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  limitMs = LIMIT_MS,
): Promise<T> {
  const end = performance.now() + limitMs
  for (;;) {
    let seen: unknown
    try {
      const answer = await probe()
      if (answer !== undefined && answer !== false) return answer
    } catch (error) {
      seen = error
    }
    if (performance.now() > end) {
      const last = seen instanceof Error ? `: ${seen.message}` : ''
      throw new Error(`not within ${limitMs / 1_000} s: ${what}${last}`, { cause: seen })
    }
    await sleep(POLL_MS)
  }
}
