/** What all metrics share: a registry of one's own, buckets, and label sets that cannot grow without end. */
import { collectDefaultMetrics, Registry } from 'prom-client'

/** Seconds, from a search (a tenth of a millisecond) to the longest call (a minute). */
export const SECONDS_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]
/** The label value that stands for all beyond a cap. */
export const OTHER = 'other'

/** A registry with the process's own metrics (CPU, memory, event loop) in it. */
export function createRegistry(): Registry {
  const register = new Registry()
  collectDefaultMetrics({ register })
  return register
}

/** Lets the first `limit` different keys through, for good, and refuses the rest: their series are counted as `other`. */
export function capSeries(limit: number): (key: string) => boolean {
  const known = new Set<string>()
  return key => {
    if (known.has(key)) return true
    if (known.size >= limit) return false
    known.add(key)
    return true
  }
}
