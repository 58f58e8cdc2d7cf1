/** What the search by meaning counts, in the registry of its router. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Missed } from './query-encoder.ts'

/** `pending` is asked whenever the metrics are read. */
export function semanticMetrics(
  registry: Registry,
  pending: () => number,
): { missed: (why: Missed) => void } {
  new Gauge({
    name: 'portolan_search_vectors_pending',
    help: 'Tools, resources and prompts whose vector is still to come: they are found by words alone.',
    registers: [registry],
    collect() {
      this.set(pending())
    },
  })
  const misses = new Counter({
    name: 'portolan_search_queries_without_vector_total',
    help: 'Searches by words alone because the vector of the query did not come in time.',
    labelNames: ['reason'],
    registers: [registry],
  })
  return { missed: reason => misses.inc({ reason }) }
}
