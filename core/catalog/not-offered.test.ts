/** Which servers cannot ask questions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cannotAskQuestions } from './not-offered.ts'

test('a shared server of the 2025 era can ask no questions, unless its transport ties them to calls', () => {
  const canAsk = (transport: 'stdio' | 'http' | 'sse', sessions: 'shared' | 'perClient', protocol: string) =>
    !cannotAskQuestions({ transport, sessions }, protocol)
  assert.equal(canAsk('stdio', 'shared', '2025-11-25'), false)
  assert.equal(canAsk('sse', 'shared', '2024-11-05'), false)
  assert.equal(canAsk('http', 'shared', '2025-11-25'), true)
  assert.equal(canAsk('stdio', 'perClient', '2025-11-25'), true)
  assert.equal(canAsk('stdio', 'shared', '2026-07-28'), true)
})
