/** Metrics of search by meaning. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Missed } from './query-encoder.ts'

export type SemanticMetrics = {
  /** Counts a search that had to do without the vector of its query. */
  missed(why: Missed): void
  /** `pending`: returns how many texts have no vector yet; called at each scrape. */
  watchPending(pending: () => number): void
}

export function createSemanticMetrics(registry: Registry): SemanticMetrics {
  let pendingOf = () => 0
  new Gauge({
    name: 'portolan_search_vectors_pending',
    help: 'Tools, resources and prompts that have no vector yet: they are found by words alone.',
    registers: [registry],
    collect() {
      this.set(pendingOf())
    },
  })
  const misses = new Counter({
    name: 'portolan_search_queries_without_vector_total',
    help: "Searches by words alone because the query's vector was not ready in time.",
    labelNames: ['reason'],
    registers: [registry],
  })
  return {
    missed: reason => misses.inc({ reason }),
    watchPending(pending) {
      pendingOf = pending
    },
  }
}
