/** Signals with a time limit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { deadline, faultOf } from './deadline.ts'

test('a deadline aborts with Fault timeout, or with the code that its caller gives', () => {
  const clock = createManualClock()
  const { signal } = deadline(clock, 100, 'The API server is slow')
  const other = deadline(clock, 100, 'late', undefined, 'upstream_timeout')
  clock.advance(99)
  assert.equal(signal.aborted, false)
  clock.advance(1)
  const { code, message, retryable, details } = faultOf(signal)
  assert.deepEqual(
    { code, message, retryable, details },
    { code: 'timeout', message: 'The API server is slow', retryable: true, details: { limitMs: 100 } },
  )
  assert.equal(faultOf(other.signal).code, 'upstream_timeout')
})

test('a deadline that is cleared, or whose parent has aborted, does not time out', () => {
  const clock = createManualClock()
  const parent = new AbortController()
  const cleared = deadline(clock, 100, 'late', parent.signal)
  cleared.clear()
  const followed = deadline(clock, 100, 'late', parent.signal)
  parent.abort(new Error('left'))
  clock.advance(100)
  assert.equal(cleared.signal.aborted, false)
  assert.equal(faultOf(followed.signal).code, 'cancelled')
})
