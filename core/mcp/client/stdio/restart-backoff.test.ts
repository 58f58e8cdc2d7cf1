/** When a child that ended may be started again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRestartBackoff, RESTART, STABLE_MS } from './restart-backoff.ts'

test('a child that was healthy is restarted at once the first time, then with growing delays of up to a minute', () => {
  const backoff = createRestartBackoff(() => 1)
  const delays = Array.from({ length: 10 }, () => backoff.failed(0, 10))
  assert.deepEqual(delays, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000])
})

test('a child that was never healthy is restarted with a delay from the first failure on', () => {
  const backoff = createRestartBackoff(() => 1)
  assert.equal(backoff.failed(1_000, undefined), RESTART.firstMs)
  assert.equal(backoff.remaining(1_000), RESTART.firstMs)
  assert.equal(backoff.remaining(1_900), 100)
  assert.equal(backoff.remaining(2_001), 0)
})

test('a minute of stable running resets the delay, and so does sleep', () => {
  const backoff = createRestartBackoff(() => 1)
  for (let round = 0; round < 5; round++) backoff.failed(0, 10)
  assert.equal(backoff.failed(0, STABLE_MS), 0)
  assert.equal(backoff.failed(0, 10), RESTART.firstMs)
  backoff.reset()
  assert.equal(backoff.failures, 0)
})
