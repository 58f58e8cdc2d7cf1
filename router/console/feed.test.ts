/** The figures of calls that the console shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createPoints } from './points.ts'
import { createServerPast } from './server-past.ts'
import { createSpread } from './spread.ts'

test('quantiles are within a tenth of the true ones', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.02, max: 1_000_000, noNaN: true }), { minLength: 1 }), values => {
      const spread = createSpread()
      for (const value of values) spread.add(value)
      const sorted = values.toSorted((a, b) => a - b)
      const { p50 = 0, p95 = 0 } = spread.quantiles() ?? {}
      for (const [found, share] of [
        [p50, 0.5],
        [p95, 0.95],
      ] as const) {
        const value = sorted[Math.ceil(share * values.length) - 1] ?? 0
        assert.ok(found >= value * 0.99 - 0.01 && found <= value * 1.11 + 0.01, `${found} for ${value}`)
      }
    }),
  )
})

test('points of 5 s are kept for half an hour, and long points sum up 5 min', () => {
  const clock = createManualClock(1_000_000)
  const points = createPoints(clock, () => [])
  points.called('ok', 1, 10)
  points.called('timeout', 1, 0)
  points.searched(2)
  points.tokens(100, 7)
  clock.advance(5_000)
  points.called('ok', 1, 10)
  clock.advance(5_000)
  const [first, second] = points.since(0).points
  assert.deepEqual(first?.calls, { ok: 1, timeout: 1 })
  assert.deepEqual([first?.direct, first?.served, first?.searches], [100, 7, 1])
  assert.deepEqual(second?.calls, { ok: 1 })
  clock.advance(3_600_000)
  const { points: short, long } = points.since(0)
  assert.equal(short.length, 360)
  assert.deepEqual(long[0]?.calls, { ok: 2, timeout: 1 })
  assert.equal(long.length, 12)
  points.close()
})

test('for each server, the calls of the last five minutes and the states of the last hour are kept', () => {
  const clock = createManualClock(10_000_000)
  const past = createServerPast(clock)
  const at = (state: string) => past.noticed([{ name: 'a', status: { state, hidden: false } } as never])
  at('starting')
  at('starting')
  at('ready')
  for (let times = 0; times < 500; times++) past.called('a', times % 10 === 0, 20)
  assert.deepEqual(
    past.of('a').history.map(({ state }) => state),
    ['starting', 'ready'],
  )
  const { calls, errors, p95Ms = 0 } = past.of('a').recent
  assert.deepEqual([calls, errors], [500, 50])
  assert.ok(p95Ms > 18 && p95Ms < 23)
  clock.advance(2 * 3_600_000)
  at('failed')
  assert.equal(past.of('a').recent.calls, 0)
  assert.deepEqual(
    past.of('a').history.map(({ state }) => state),
    ['ready', 'failed'],
  )
  past.noticed([])
  assert.deepEqual(past.of('a').history, [])
})
