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

/** What is made for each key, for the first `limit` of them; all beyond share the one that is made for `other`. */
export function upTo<T>(limit: number, make: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>()
  let other: T | undefined
  return key => {
    const found = known.get(key)
    if (found !== undefined) return found
    if (known.size >= limit) {
      other ??= make(OTHER)
      return other
    }
    const made = make(key)
    known.set(key, made)
    return made
  }
}
