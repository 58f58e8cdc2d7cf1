/** The pause before a server is asked again because it said so. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextGapMs } from './changed-gap.ts'

test('it doubles up to a minute while nothing comes of it, and begins anew with a change', () => {
  const gaps = [200]
  for (let vain = 0; vain < 10; vain++) gaps.push(nextGapMs(gaps.at(-1) as number, 200, true))
  assert.deepEqual(gaps.slice(0, 4), [200, 400, 800, 1_600])
  assert.equal(gaps.at(-1), 60_000)
  assert.equal(nextGapMs(60_000, 200, false), 200)
})
