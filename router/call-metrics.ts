/** Metrics of calls, added up in plain numbers: prom-client's look-ups of labels would cost a call more than the rest of its report. */
import { Counter, type Registry } from 'prom-client'
import { createHistogram } from '../core/histogram.ts'
import { OTHER, SECONDS_BUCKETS, upTo } from '../core/metrics.ts'
import type { CallRecord } from './observer.ts'

/** A histogram costs 26 ms a scrape with 784 series, so tools are only counted, and only this many. */
const MAX_TOOL_SERIES = 1_000
export const MAX_SERVER_SERIES = 500
/** Each costs as many series as there are buckets; few are enough to tell a slow server from a quick one. */
const MAX_TIMED_SERVERS = 100
const SERVER_SECONDS_BUCKETS = [0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60]

/** Returns what takes the record of each call. */
export function createCallMetrics(registry: Registry): (record: CallRecord) => void {
  const part = createHistogram(registry, {
    name: 'portolan_call_duration_seconds',
    help: "Time of one call, the router's own part and the upstream's apart.",
    buckets: SECONDS_BUCKETS,
  })
  const [router, upstream] = [part({ part: 'router' }), part({ part: 'upstream' })]
  const timeOf = createServerTimes(registry)
  const callsOf = createCallCounts(registry)
  const toolCallsOf = createToolCounts(registry)
  return ({ server = '', tool, outcome, totalMs, upstreamMs }) => {
    router(Math.max(0, totalMs - upstreamMs) / 1_000)
    callsOf(server)(outcome).value++
    // What was refused here was never sent.
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
    help: `Time that a server took for one call; beyond ${MAX_TIMED_SERVERS} servers they count as "${OTHER}".`,
    buckets: SERVER_SECONDS_BUCKETS,
  })
  return upTo(MAX_TIMED_SERVERS, server => series({ server }))
}

function createCallCounts(registry: Registry) {
  const begin = createCounts(
    registry,
    'portolan_calls_total',
    'Calls by server and outcome; an empty server is one that does not exist.',
    ['server', 'outcome'],
  )
  // There are few outcomes.
  return upTo(MAX_SERVER_SERIES, server =>
    upTo(Number.POSITIVE_INFINITY, outcome => begin({ server, outcome })),
  )
}

function createToolCounts(registry: Registry) {
  const begin = createCounts(
    registry,
    'portolan_tool_calls_total',
    `Calls by tool; beyond ${MAX_TOOL_SERIES} tools they count as "${OTHER}".`,
    ['server', 'tool'],
  )
  return upTo(MAX_TOOL_SERIES, key => {
    const [server = OTHER, tool = OTHER] = key.split('\n')
    return begin({ server, tool })
  })
}

type Count = { value: number }

/** A counter whose series are plain numbers until somebody scrapes. */
function createCounts<L extends string>(registry: Registry, name: string, help: string, labelNames: L[]) {
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
