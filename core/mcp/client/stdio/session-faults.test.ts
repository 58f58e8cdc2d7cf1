/** What a fault quotes from the standard error of a child that ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorLineOf } from './session-faults.ts'

test('the last line that looks like an error is quoted, otherwise the last line', () => {
  const docker = [
    'docker: Error response: pull access denied',
    '',
    "Run 'docker run --help' for more information",
  ]
  assert.equal(errorLineOf(docker), ': docker: Error response: pull access denied')
  assert.equal(errorLineOf(['starting', 'bye']), ': bye')
  assert.equal(errorLineOf([]), '')
})
