/** When a credential counts as expired. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { atExpiry } from './expiry.ts'

const DAY_MS = 86_400_000

function identityUntil(expiresMs: number) {
  return { id: 'ann', expiresMs } as Parameters<typeof atExpiry>[1]
}

test('a credential expires when it says, also if that is later than the longest timer', () => {
  for (const days of [0, 1, 30, 365]) {
    const clock = createManualClock()
    let ended = 0
    atExpiry(clock, identityUntil(days * DAY_MS), () => void ended++)
    if (days > 0) clock.advance(days * DAY_MS - 1)
    assert.equal(ended, 0)
    clock.advance(1)
    assert.deepEqual([ended, clock.pending()], [1, 0])
  }
})

test('nothing ends after it was cancelled, or if the credential has no end', () => {
  const clock = createManualClock()
  const cancel = atExpiry(clock, identityUntil(60 * DAY_MS), () => assert.fail())
  clock.advance(50 * DAY_MS)
  cancel()
  atExpiry(clock, identityUntil(Number.POSITIVE_INFINITY), () => assert.fail())
  assert.equal(clock.pending(), 0)
})
