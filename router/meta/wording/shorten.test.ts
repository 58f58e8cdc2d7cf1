/** Texts that are cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { revealBeginning } from './shorten.ts'

test('the beginning of a text is shown with its hidden characters, and a cut text ends with an ellipsis', () => {
  assert.equal(revealBeginning('a\u200Bb', 100), 'a⟨U+200B zero width space⟩b')
  assert.equal(revealBeginning('x'.repeat(100), 100), 'x'.repeat(100))
  assert.equal(revealBeginning('x'.repeat(101), 100), `${'x'.repeat(99)}…`)
  assert.match(revealBeginning(`${'\u200B'.repeat(1_000)}the end`, 200), /^⟨[^⟩]*, and 796 more⟩…$/)
  assert.equal(revealBeginning(`${'\u200B'.repeat(399)}👍👍`, 100).isWellFormed(), true)
})
