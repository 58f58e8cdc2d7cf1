/** What the request log and the audit stream may show of arguments. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redact } from './payload.ts'

test('secrets and long texts are left out', () => {
  const shown = redact({ password: 'x', list: [{ api_key: 'x', text: 'y'.repeat(1_000) }] }) as {
    list: [{ text: string }]
  }
  assert.ok(shown.list[0].text.length <= 200)
  assert.deepEqual(shown, {
    password: '[redacted]',
    list: [{ api_key: '[redacted]', text: shown.list[0].text }],
  })
})

test('of long lists and large objects only the first items are shown, and how many more there are', () => {
  const numbers = Array.from({ length: 250 }, (_, at) => at)
  const named = Object.fromEntries(numbers.map(at => [`n${at}`, at]))
  assert.deepEqual(redact(numbers), [...numbers.slice(0, 100), '150 more'])
  assert.deepEqual(redact(named), {
    ...Object.fromEntries(Object.entries(named).slice(0, 100)),
    '…': '150 more',
  })
})
