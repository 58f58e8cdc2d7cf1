/** Waits for a state, never for time to pass. */
import { setTimeout as sleep } from 'node:timers/promises'

const LIMIT_MS = 120_000
const MIN_PAUSE_MS = 10
const MAX_PAUSE_MS = 150
/** Part of the time waited so far: short waits end at once, and long ones take little CPU time. */
const PAUSE_SHARE = 0.1

type Probe<T> = () => T | undefined | false | Promise<T | undefined | false>

/**
 * Probes until the answer is neither undefined nor false, and resolves with it. A probe that throws is tried again. The error of a timeout
 * says what was waited for, by default with the source of the probe, and contains what the probe threw last.
 */
export function until<T>(probe: Probe<T>): Promise<T>
export function until<T>(what: string, probe: Probe<T>, limitMs?: number): Promise<T>
export async function until<T>(
  what: string | Probe<T>,
  probe: Probe<T> = what as Probe<T>,
  limitMs = LIMIT_MS,
): Promise<T> {
  const start = performance.now()
  for (;;) {
    let seen: unknown
    try {
      const answer = await probe()
      if (answer !== undefined && answer !== false) return answer
    } catch (error) {
      seen = error
    }
    const waited = performance.now() - start
    if (waited > limitMs) {
      const last = seen instanceof Error ? `: ${seen.message}` : ''
      const wanted = String(what).replace(/\s+/g, ' ')
      throw new Error(`not within ${limitMs / 1_000} s: ${wanted}${last}`, { cause: seen })
    }
    await sleep(Math.min(Math.max(waited * PAUSE_SHARE, MIN_PAUSE_MS), MAX_PAUSE_MS))
  }
}
