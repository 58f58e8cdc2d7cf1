/** Which servers cannot ask questions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canAskNothing } from './not-offered.ts'

test('a shared server of the 2025 era can ask no questions, unless its transport ties them to calls', () => {
  const can = (transport: 'stdio' | 'http' | 'sse', sessions: 'shared' | 'perClient', protocol: string) =>
    !canAskNothing({ transport, sessions }, protocol)
  assert.equal(can('stdio', 'shared', '2025-11-25'), false)
  assert.equal(can('sse', 'shared', '2024-11-05'), false)
  assert.equal(can('http', 'shared', '2025-11-25'), true)
  assert.equal(can('stdio', 'perClient', '2025-11-25'), true)
  assert.equal(can('stdio', 'shared', '2026-07-28'), true)
})
