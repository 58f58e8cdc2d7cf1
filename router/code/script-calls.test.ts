/** Requests of a script that fail unexpectedly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../core/log.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import { codeOf } from '../../test/code/script-gateway.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Work } from '../meta/meta-tool.ts'
import { ScriptCalls } from './script-calls.ts'

test('a request that fails unexpectedly is logged, and its reply is a failure', async () => {
  const logged: string[] = []
  const broken = () => {
    throw new TypeError('a bug')
  }
  const code = codeOf()
  const calls = new ScriptCalls({
    work: {
      request: { caller: createCaller() },
      limits: { request: broken },
      catalog: {},
    } as unknown as Work,
    code,
    limits: code.limits,
    clock: createManualClock(),
    log: createLog({ destination: { write: line => void logged.push(line) } }),
    permit: async () => undefined,
    answerRounds: async () => ({ result: {} }),
    onMade: () => {},
  })
  const reply = await calls.answer({ call: 1, kind: 'call', path: 'a:b', args: '{}' })
  assert.deepEqual(reply, {
    isValue: false,
    json: '{"message":"The gateway failed unexpectedly.","kind":"unavailable","tool":"a:b"}',
  })
  assert.match(logged.join(''), /a request of a script failed unexpectedly/)
  await calls.settled()
})
