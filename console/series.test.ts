/** The charts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConsolePoint } from '../core/console/shapes.ts'
import { pointsOf } from './points.ts'
import { chartsOf } from './series.ts'

const HOUR_MS = 3_600_000

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
  const points = Array.from({ length: 360 }, (_none, at) => point(at * 5_000))
  const long = Array.from({ length: 288 }, (_none, at) => point(at * 300_000))
  assert.deepEqual(
    ['15m', '1h', '24h'].map(range => pointsOf(range, points, long).length),
    [180, 12, 288],
  )
})

test('points of before a pause, in which the machine slept or the gateway did not run, are not drawn', () => {
  const night = [point(1_000), point(6_000)]
  const morning = [point(8 * HOUR_MS), point(8 * HOUR_MS + 5_000)]
  assert.deepEqual(pointsOf('15m', [...night, ...morning], []), morning)
  const long = [point(HOUR_MS), point(8 * HOUR_MS)]
  assert.deepEqual(pointsOf('1h', [], long), long.slice(1))
  assert.deepEqual(pointsOf('24h', [], [...long, point(26 * HOUR_MS)]).length, 2)
})
