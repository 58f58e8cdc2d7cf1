/** The charts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsolePoint } from '../core/console/shapes.ts'
import { chartsOf, pointsOf } from './series.ts'

const point = (at: number, more: Partial<ConsolePoint> = {}): ConsolePoint => ({
  ...{ at, spanMs: 5_000, calls: {}, direct: 0, served: 0, searches: 0, active: 0, waiting: 0, open: 0 },
  ...more,
})

test('every line of a chart has a value for every time, or a gap if nothing was measured', () => {
  const charts = chartsOf([
    point(1_000),
    point(2_000, { calls: { ok: 3, timeout: 1 }, serverMs: { p50: 2, p95: 9 } }),
  ])
  assert.equal(charts.length, 5)
  for (const { times, lines } of charts)
    for (const { values } of lines) assert.equal(values.length, times.length)
  const values = (key: string) => charts.find(chart => chart.key === key)?.lines.map(({ values }) => values)
  assert.deepEqual(values('calls'), [
    [0, 3],
    [0, 1],
  ])
  assert.deepEqual(values('latency')?.slice(0, 2), [
    [null, 9],
    [null, 2],
  ])
})

test('each range is drawn with its own number of points', () => {
  const points = Array.from({ length: 360 }, (_none, at) => point(at))
  const long = Array.from({ length: 288 }, (_none, at) => point(at))
  assert.deepEqual(
    ['15m', '1h', '24h'].map(range => pointsOf(range, points, long).length),
    [180, 12, 288],
  )
})
