/** Metrics of search by meaning, in the router's registry. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Missed } from './query-encoder.ts'

/** `pending` is called at each scrape. */
export function semanticMetrics(
  registry: Registry,
  pending: () => number,
): { missed: (why: Missed) => void } {
  new Gauge({
    name: 'portolan_search_vectors_pending',
    help: 'Tools, resources and prompts that have no vector yet: they are found by words alone.',
    registers: [registry],
    collect() {
      this.set(pending())
    },
  })
  const misses = new Counter({
    name: 'portolan_search_queries_without_vector_total',
    help: "Searches by words alone because the query's vector was not ready in time.",
    labelNames: ['reason'],
    registers: [registry],
  })
  return { missed: reason => misses.inc({ reason }) }
}
