/** Metrics of calls, summed in plain numbers: prom-client's label look-ups would cost more than the rest of reporting a call. */
import { Counter, type Registry } from 'prom-client'
import { createHistogram } from '../core/histogram.ts'
import { OTHER, SECONDS_BUCKETS, upTo } from '../core/metrics.ts'
import type { CallRecord } from './observer.ts'

/** A histogram per tool would cost 26 ms a scrape with 784 series, so tools are only counted, up to this number. */
const MAX_TOOL_SERIES = 1_000
/** How many servers get series of their own; the others are counted together. */
export const MAX_SERVER_SERIES = 500
/** Each server costs one series per bucket; a few buckets are enough to distinguish a slow server from a fast one. */
const MAX_TIMED_SERVERS = 100
const SERVER_SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60]

/** Returns a function that records one call. */
export function createCallMetrics(registry: Registry): (record: Omit<CallRecord, 'by'>) => void {
  const part = createHistogram(registry, {
    name: 'portolan_call_duration_seconds',
    help: "Time of one call, split into the router's part and the upstream's.",
    buckets: SECONDS_BUCKETS,
  })
  const [router, upstream] = [part({ part: 'router' }), part({ part: 'upstream' })]
  const timeOf = createServerTimes(registry)
  const callsOf = createCallCounts(registry)
  const toolCallsOf = createToolCounts(registry)
  return ({ server = '', tool, outcome, totalMs, upstreamMs }) => {
    router(Math.max(0, totalMs - upstreamMs) / 1_000)
    callsOf(server)(outcome).value++
    // A call refused by the router was never sent upstream.
    if (upstreamMs > 0) {
      upstream(upstreamMs / 1_000)
      timeOf(server)(upstreamMs / 1_000)
    }
    if (tool !== undefined) toolCallsOf(`${server}\n${tool}`).value++
  }
}

function createServerTimes(registry: Registry) {
  const series = createHistogram(registry, {
    name: 'portolan_upstream_duration_seconds',
    help: `Time a server took to answer one call; beyond ${MAX_TIMED_SERVERS} servers they are counted as "${OTHER}".`,
    buckets: SERVER_SECONDS_BUCKETS,
  })
  return upTo(MAX_TIMED_SERVERS, server => series({ server }))
}

function createCallCounts(registry: Registry) {
  const begin = createCounts(
    registry,
    'portolan_calls_total',
    'Calls by server and outcome; the server is empty if it does not exist.',
    ['server', 'outcome'],
  )
  // There are only a few outcomes, so they need no limit.
  return upTo(MAX_SERVER_SERIES, server =>
    upTo(Number.POSITIVE_INFINITY, outcome => begin({ server, outcome })),
  )
}

function createToolCounts(registry: Registry) {
  const begin = createCounts(
    registry,
    'portolan_tool_calls_total',
    `Calls by tool; beyond ${MAX_TOOL_SERIES} tools they are counted as "${OTHER}".`,
    ['server', 'tool'],
  )
  return upTo(MAX_TOOL_SERIES, key => {
    const [server = OTHER, tool = OTHER] = key.split('\n')
    return begin({ server, tool })
  })
}

type Count = { value: number }

/** A counter whose series are plain numbers until the next scrape. Returns a function that begins the series of some labels. */
export function createCounts<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: L[],
) {
  const counts: (Count & { labels: Record<L, string> })[] = []
  new Counter<L>({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, value } of counts) this.inc(labels, value)
    },
  })
  return (labels: Record<L, string>): Count => {
    const count = { labels, value: 0 }
    counts.push(count)
    return count
  }
}
