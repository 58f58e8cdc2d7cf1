/** Waiting with an end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { deadline, faultOf } from './deadline.ts'

test('a deadline aborts with the fault that its caller chose', () => {
  const clock = createManualClock()
  const { signal } = deadline(clock, 100, 'timeout', 'The API server is slow')
  clock.advance(99)
  assert.equal(signal.aborted, false)
  clock.advance(1)
  const { code, message, retryable, details } = faultOf(signal)
  assert.deepEqual(
    { code, message, retryable, details },
    { code: 'timeout', message: 'The API server is slow', retryable: true, details: { limitMs: 100 } },
  )
})

test('a deadline that is cleared, or whose parent aborted before, is over', () => {
  const clock = createManualClock()
  const parent = new AbortController()
  const cleared = deadline(clock, 100, 'timeout', 'late', parent.signal)
  cleared.clear()
  const followed = deadline(clock, 100, 'timeout', 'late', parent.signal)
  parent.abort(new Error('left'))
  clock.advance(100)
  assert.equal(cleared.signal.aborted, false)
  assert.equal(faultOf(followed.signal).code, 'cancelled')
})
