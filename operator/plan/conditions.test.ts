/** Messages of conditions, which the API server stores as UTF-8. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { condition, MAX_MESSAGE_CHARACTERS } from './conditions.ts'

test('a message that is cut within a character stays what the API server would store, so that it is written once', () => {
  const message = `${'x'.repeat(MAX_MESSAGE_CHARACTERS - 1)}😀`
  const cut = condition('Ready', 'False', { reason: 'Failed', message }, 1).message
  assert.equal(cut.length, MAX_MESSAGE_CHARACTERS)
  assert.ok(cut.isWellFormed())
})
