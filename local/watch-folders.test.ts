/** When a change of a folder is reported. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../test/support/manual-clock.ts'
import { createDebounce } from './watch-folders.ts'

test('a burst of changes is reported once, 100 ms after its last change', () => {
  const clock = createManualClock()
  let reported = 0
  const debounce = createDebounce(clock, () => reported++)
  for (let at = 0; at < 3; at++) {
    debounce.changed()
    clock.advance(99)
  }
  assert.equal(reported, 0)
  clock.advance(1)
  assert.equal(reported, 1)
  debounce.changed()
  debounce.cancel()
  clock.advance(1_000)
  assert.deepEqual([reported, clock.pending()], [1, 0])
})

test('changes that follow each other without end are reported every second', () => {
  const clock = createManualClock()
  let reported = 0
  const debounce = createDebounce(clock, () => reported++)
  for (let at = 0; at < 61; at++) {
    debounce.changed()
    clock.advance(50)
  }
  assert.equal(reported, 3)
})
