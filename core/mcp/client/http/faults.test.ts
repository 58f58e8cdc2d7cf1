/** What a broken connection means for the request that was on it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionFault, isNotConnected } from './faults.ts'

test('a request is repeated only if no connection was made, not if it broke', () => {
  for (const code of ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']) {
    const failed = (syscall: string) =>
      connectionFault(Object.assign(new Error(`${syscall} ${code}`), { code, syscall }))
    assert.deepEqual(
      [failed('connect').code, isNotConnected(failed('connect'))],
      ['upstream_unreachable', true],
    )
    for (const syscall of ['read', 'write'])
      assert.deepEqual([failed(syscall).code, isNotConnected(failed(syscall))], ['upstream_died', false])
  }
})
