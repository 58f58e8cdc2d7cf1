/** Shared by all metrics: the registry, buckets, and bounded label sets. */
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import packageJson from '../package.json' with { type: 'json' }

/** Buckets for durations in seconds: from that of a search (0.1 ms) to that of the longest call (a minute). */
export const SECONDS_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]
/** The label value of everything beyond the limit of a label set. */
export const OTHER = 'other'

/** A registry with the metrics of the process: its version, CPU, memory, event loop. */
export function createRegistry(component: 'operator' | 'router'): Registry {
  const register = new Registry()
  collectDefaultMetrics({ register })
  new Gauge({
    name: 'portolan_build_info',
    help: '1, with the version of Portolan and what the process is.',
    labelNames: ['version', 'component'],
    registers: [register],
  }).set({ version: packageJson.version, component }, 1)
  return register
}

/** Memoizes `make` for the first `limit` keys; all further keys share the value made for `other`. */
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
