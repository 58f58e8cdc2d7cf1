/** What a script sends to the main thread is limited, in its own thread and again in the main thread. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { LIMITS } from '../../test/code/script-gateway.ts'
import { type FromThread, isFromThread, type SandboxRequest } from './sandbox-messages.ts'
import { createSandboxThreads } from './sandbox-threads.ts'

const MI = 1024 * 1024
const THREAD_LIMITS = { ...LIMITS, argumentBytes: MI, logCharacters: 1_000 }
const MAX_ERROR = 2_000

const sandboxes = createSandboxThreads(systemClock)
after(() => sandboxes.close())

async function outcomeOf(source: string, answer: (request: SandboxRequest) => void = () => {}) {
  const { outcome } = await sandboxes.run({
    source,
    limits: THREAD_LIMITS,
    answer: async request => {
      answer(request)
      return { isValue: true }
    },
    signal: new AbortController().signal,
  })
  return outcome
}

test('however large what a script throws is, its name and message are short', async () => {
  const forged = '({name: "n".repeat(1e6), message: "m".repeat(1e6), stack: "s".repeat(1e6)})'
  for (const source of [
    "throw {a: 'a\\u200b'.repeat(1e6)}",
    "throw ['a'.repeat(1e6)]",
    "const e = new Error('m'.repeat(1e6)); e.name = 'n'.repeat(1e6); throw e",
    "throw 'a'.repeat(1e6)",
    `Object.prototype.toJSON = () => ${forged}; throw {}`,
    `return {get a() { throw {b: 'b'.repeat(1e6)} }}`,
  ]) {
    const outcome = await outcomeOf(source)
    assert.ok(outcome.kind === 'threw', `${source}: ${outcome.kind}`)
    const { name, message } = outcome.error
    assert.ok(name.length <= MAX_ERROR && message.length <= MAX_ERROR, source)
  }
})

test('a message with an outcome that is malformed or too large is not from our thread', () => {
  const report: FromThread = { run: 1, memoryBytes: 1, requests: [], logged: '', sandboxMs: 1 }
  const from = (outcome: unknown) => isFromThread({ ...report, outcome })
  const long = 'x'.repeat(MAX_ERROR + 1)
  for (const outcome of [
    { kind: 'returned', late: 0 },
    { kind: 'returned', json: '1', late: 2 },
    { kind: 'threw', error: { name: 'Error', message: 'x'.repeat(MAX_ERROR), line: 1, column: 2 } },
    { kind: 'threw', error: { name: '', message: '' } },
    { kind: 'stuck' },
    { kind: 'time' },
    { kind: 'memory' },
    { kind: 'failed', message: 'why' },
  ])
    assert.ok(from(outcome), JSON.stringify(outcome))
  for (const outcome of [
    null,
    {},
    { kind: 'other' },
    { kind: 'returned', json: {}, late: 0 },
    { kind: 'returned', json: '1' },
    { kind: 'threw' },
    { kind: 'threw', error: { name: 'Error' } },
    { kind: 'threw', error: { name: 'Error', message: long } },
    { kind: 'threw', error: { name: long, message: '' } },
    { kind: 'threw', error: { name: '', message: '', line: long } },
    { kind: 'failed', message: long },
  ])
    assert.ok(!from(outcome), JSON.stringify(outcome))
})
