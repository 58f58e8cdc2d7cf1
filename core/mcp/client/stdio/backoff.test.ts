/** When something that failed may be tried again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBackoff, FIRST_DELAY_MS, LONGEST_DELAY_MS, STABLE_MS } from './backoff.ts'

test('a healthy child is started again at once the first time, then later and later up to a minute', () => {
  const backoff = createBackoff(() => 0)
  const delays = Array.from({ length: 10 }, () => backoff.failed(0, 10))
  assert.deepEqual(delays, [0, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

test('a child that never became healthy waits from the first failure on', () => {
  const backoff = createBackoff(() => 0)
  assert.equal(backoff.failed(1_000, undefined), FIRST_DELAY_MS)
  assert.equal(backoff.remaining(1_000), FIRST_DELAY_MS)
  assert.equal(backoff.remaining(1_400), 100)
  assert.equal(backoff.remaining(2_000), 0)
})

test('a stable minute, or a sleep, makes the past forgotten', () => {
  const backoff = createBackoff(() => 0)
  for (let round = 0; round < 5; round++) backoff.failed(0, 10)
  assert.equal(backoff.failed(0, STABLE_MS), 0)
  assert.equal(backoff.failed(0, 10), FIRST_DELAY_MS)
  backoff.endedWell()
  assert.equal(backoff.failures, 0)
})

test('delays are spread by chance and never over the longest', () => {
  const backoff = createBackoff(() => 1)
  assert.equal(backoff.failed(0, undefined), 1.5 * FIRST_DELAY_MS)
  for (let round = 0; round < 50; round++) assert.ok(backoff.failed(0, undefined) <= LONGEST_DELAY_MS)
})
