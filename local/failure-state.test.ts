/** How failures are shown in one line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oneLine } from './failure-state.ts'

test('of the long output of an installer one line keeps the beginning and the end', () => {
  const noise = Array.from({ length: 40 }, (_, at) => `npm warn deprecated package-${at}`)
  const pointer = 'npm error A complete log of this run can be found in: /home/me/.npm/_logs/debug-0.log'
  const first = 'native could not be installed. `npm install native@1.0.0` ended with code 1:'
  const line = oneLine([first, ...noise, 'gyp ERR! not found: make', pointer].join('\n'))
  assert.ok(line.length <= 300, `${line.length}`)
  assert.ok(line.startsWith(first), line)
  assert.ok(line.endsWith('gyp ERR! not found: make'), line)
})

test('a short text is shown as a whole, and of one long line the beginning', () => {
  assert.equal(oneLine('one\n  two\n'), 'one two')
  assert.equal(oneLine('x'.repeat(400)), `${'x'.repeat(299)}…`)
})
