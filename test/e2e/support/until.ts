/** Waits for states of the world, never for time to pass. */
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 150
const LIMIT_MS = 120_000

/**
 * Asks until the answer is neither undefined nor false, and resolves with it. A probe that throws is asked again; what it threw last is told
 * where the time is over.
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
