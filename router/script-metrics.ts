/** Metrics of scripts. */
import { Gauge, Histogram, type Registry } from 'prom-client'
import { createCounts } from './call-metrics.ts'
import type { RouterObserver, ScriptOutcome, ScriptRecord } from './observer.ts'

const SECONDS_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 15, 60, 600]
const CALLS_BUCKETS = [0, 1, 2, 5, 10, 20, 50, 100, 1_000]

export type ScriptMetrics = Pick<RouterObserver, 'scriptBegan'> & {
  scriptRan(record: Omit<ScriptRecord, 'by'>): void
}

export function createScriptMetrics(registry: Registry): ScriptMetrics {
  const registers = [registry]
  const total = createCounts(registry, 'portolan_scripts_total', 'Scripts by outcome.', ['outcome'])
  const counts = new Map<ScriptOutcome, { value: number }>()
  const duration = new Histogram({
    name: 'portolan_script_duration_seconds',
    help: 'Time of one script by part: computing, calls under way, and waiting for a person.',
    labelNames: ['part'],
    buckets: SECONDS_BUCKETS,
    registers,
  })
  const calls = new Histogram({
    name: 'portolan_script_calls',
    help: 'Calls of one script.',
    buckets: CALLS_BUCKETS,
    registers,
  })
  const active = new Gauge({
    name: 'portolan_scripts_active',
    help: 'Scripts that run, or wait for a person.',
    registers,
  })
  // A gauge, because it may fall: a script can return more than it took in.
  const kept = new Gauge({
    name: 'portolan_tokens_kept_out_total',
    help: 'Tokens (o200k_base, estimated) of the results that scripts took in, less those of what they returned.',
    registers,
  })
  return {
    scriptBegan: () => active.inc(),
    scriptRan({ outcome, calls: made, sandboxMs, toolsMs, askedMs, keptTokens }) {
      const count = counts.get(outcome) ?? total({ outcome })
      counts.set(outcome, count)
      count.value++
      active.dec()
      if (outcome === 'busy') return
      duration.observe({ part: 'sandbox' }, sandboxMs / 1_000)
      duration.observe({ part: 'tools' }, toolsMs / 1_000)
      duration.observe({ part: 'asked' }, askedMs / 1_000)
      calls.observe(made)
      kept.inc(keptTokens)
    },
  }
}
