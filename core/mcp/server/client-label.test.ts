/** The names of clients for logs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grownBytes, longText } from '../../../test/support/memory.ts'
import { clientName } from './client-label.ts'

test('a name that is kept does not keep the long name that it was cut from', () => {
  const names: unknown[] = []
  const grown = grownBytes(() => {
    for (let at = 0; at < 20; at++) names.push(clientName({ name: longText(at) }))
  })
  assert.ok(grown < 2e6, `${grown} bytes`)
  assert.match(String(names[0]), /^0 é long text .{49,50}$/)
})
