/** How figures and texts are shown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, duration, isWebUrl, plain, saving } from './format.ts'

test('hidden characters are shown as what they are, and long texts are cut', () => {
  assert.equal(plain('a\u202Eb'), 'a⟨U+202E right-to-left override⟩b')
  assert.equal(plain('x'.repeat(50), 10), `${'x'.repeat(10)}…`)
})

test('the saving is described in words, also if there is none', () => {
  assert.equal(saving(6_405, 342), '94.7 % less')
  assert.equal(saving(100, 342), '242.0 % more')
  assert.equal(saving(0, 0), 'the same')
})

test('times are shown with the largest unit that fits', () => {
  assert.deepEqual([0.42, 12.4, 1_840, 59_000, 120_000, undefined].map(duration), [
    '0.4 ms',
    '12 ms',
    '1.8 s',
    '59 s',
    '2 min',
    '–',
  ])
  assert.equal(ago(1_000, 6_700), '5 s')
})

test('only web addresses become links', () => {
  assert.deepEqual(
    ['https://a.example/x', 'javascript:alert(1)', ' https://a', 'data:text/html,x'].map(isWebUrl),
    [true, false, false, false],
  )
})
