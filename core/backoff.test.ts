/** The delays between attempts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backoffMs } from './backoff.ts'

const pauses = { firstMs: 500, longestMs: 60_000 }

test('the delay doubles with every consecutive failure, up to the limit', () => {
  const waits = [0, 1, 2, 6, 7, 8, 5_000].map(failures => backoffMs(pauses, failures, () => 1))
  assert.deepEqual(waits, [500, 1_000, 2_000, 32_000, 60_000, 60_000, 60_000])
})

test('jitter shortens a delay by up to half', () => {
  const waits = [0, 0.5, 1].map(random => backoffMs(pauses, 1, () => random))
  assert.deepEqual(waits, [500, 750, 1_000])
})
