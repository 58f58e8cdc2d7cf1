/** The charts of the metrics page: which lines each of them has, and advice on how to react to them. Pure. */
import type { ConsolePoint } from '../core/console/shapes.ts'
import { sum } from '../core/sum.ts'

export type Line = {
  label: string
  /** `accent` for the main values, `quiet` for values to compare with, `bad` for failures. */
  tone: 'accent' | 'quiet' | 'bad'
  isDashed?: boolean
  unit: 'count' | 'ms'
  values: (number | null)[]
}

export type Chart = { key: string; title: string; advice: string; times: number[]; lines: Line[] }

export const RANGES = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
] as const

type Drawn = Omit<Line, 'values'> & { read: (point: ConsolePoint) => number | undefined }

const CHARTS: readonly (Omit<Chart, 'times' | 'lines'> & { lines: readonly Drawn[] })[] = [
  {
    key: 'calls',
    title: 'Calls',
    advice: 'If there are more errors, the log shows which server causes them, and why.',
    lines: [
      { label: 'successful', tone: 'accent', unit: 'count', read: ({ calls }) => successful(calls) },
      { label: 'errors', tone: 'bad', unit: 'count', read: ({ calls }) => total(calls) - successful(calls) },
    ],
  },
  {
    key: 'latency',
    title: 'Latency',
    advice: 'If servers are slow, check their limits. If the router is slow, it has too little CPU.',
    lines: [
      { label: 'servers p95', tone: 'accent', unit: 'ms', read: ({ serverMs }) => serverMs?.p95 },
      {
        label: 'servers p50',
        tone: 'accent',
        unit: 'ms',
        read: ({ serverMs }) => serverMs?.p50,
        isDashed: true,
      },
      { label: 'router p95', tone: 'quiet', unit: 'ms', read: ({ routerMs }) => routerMs?.p95 },
      {
        label: 'router p50',
        tone: 'quiet',
        unit: 'ms',
        read: ({ routerMs }) => routerMs?.p50,
        isDashed: true,
      },
    ],
  },
  {
    key: 'tokens',
    title: 'Tokens',
    advice:
      'If served is close to direct, agents list and search more than they call: reduce budgets, or use another profile.',
    lines: [
      { label: 'direct', tone: 'quiet', unit: 'count', read: ({ direct }) => direct },
      { label: 'served', tone: 'accent', unit: 'count', read: ({ served }) => served },
      {
        label: 'kept out by scripts',
        tone: 'quiet',
        unit: 'count',
        read: ({ kept }) => kept,
        isDashed: true,
      },
    ],
  },
  {
    key: 'searches',
    title: 'Searches',
    advice:
      'If searches are slow, the sentence encoder has too little CPU. Many searches for each call mean that agents do not find what they need.',
    lines: [
      { label: 'searches', tone: 'quiet', unit: 'count', read: ({ searches }) => searches },
      { label: 'p95', tone: 'accent', unit: 'ms', read: ({ searchMs }) => searchMs?.p95 },
    ],
  },
  {
    key: 'queue',
    title: 'Queue and breakers',
    advice:
      'If calls wait, raise spec.limits.concurrency of their server. An open breaker means that its server failed five times in a row.',
    lines: [
      { label: 'calls in progress', tone: 'quiet', unit: 'count', read: ({ active }) => active },
      { label: 'calls waiting', tone: 'accent', unit: 'count', read: ({ waiting }) => waiting },
      { label: 'open breakers', tone: 'bad', unit: 'count', read: ({ open }) => open },
    ],
  },
]

export function chartsOf(points: readonly ConsolePoint[]): Chart[] {
  const times = points.map(({ at }) => at / 1_000)
  return CHARTS.map(chart => ({
    ...chart,
    times,
    lines: chart.lines.map(({ read, ...line }) => ({
      ...line,
      values: points.map(point => read(point) ?? null),
    })),
  }))
}

function total(calls: Readonly<Record<string, number>>): number {
  return sum(Object.values(calls))
}

/** Includes calls that the client cancelled, which are not failures. */
function successful({ ok = 0, cancelled = 0 }: Readonly<Record<string, number>>): number {
  return ok + cancelled
}
