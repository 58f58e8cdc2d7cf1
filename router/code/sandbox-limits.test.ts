/** What a script sends to the main thread is limited, in its own thread and again in the main thread. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import { LIMITS } from '../../test/code/script-gateway.ts'
import { type FromThread, isFromThread, type SandboxRequest } from './sandbox-messages.ts'
import { createSandboxThreads } from './sandbox-threads.ts'

const MI = 1024 * 1024
const THREAD_LIMITS = { ...LIMITS, calls: 16, argumentBytes: MI, logCharacters: 1_000 }
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

test('the arguments of open requests are limited in all, and a script can go on after it awaited some', async () => {
  const sizes: number[] = []
  const source = `
    const large = () => tools.notes.get({a: 'x'.repeat(1e6)})
    const first = await Promise.allSettled(Array.from({length: 20}, large))
    const refused = first.filter(one => one.reason).map(({reason}) => reason)
    await Promise.all(Array.from({length: 8}, large))
    return [refused.length, refused[0].kind, refused[0].message]`
  const outcome = await outcomeOf(source, ({ args }) => void sizes.push(args.length))
  assert.ok(outcome.kind === 'returned', JSON.stringify(outcome))
  assert.deepEqual(JSON.parse(outcome.json ?? ''), [
    12,
    'too_large',
    'notes:get was not called: the arguments of all calls without an answer would be larger than 8388608 bytes: await some calls first.',
  ])
  assert.equal(sizes.length, 16)
})

test('the arguments of a pause are short', async () => {
  const sizes: number[] = []
  const source = `
    const all = await Promise.allSettled(Array.from({length: 20}, () => sleep('x'.repeat(1e6))))
    await sleep(1)
    return [...new Set(all.map(({reason}) => reason?.message))]`
  const outcome = await outcomeOf(source, ({ args }) => void sizes.push(args.length))
  assert.ok(outcome.kind === 'returned', JSON.stringify(outcome))
  assert.deepEqual(JSON.parse(outcome.json ?? ''), [
    'sleep was not called: its arguments are larger than 100 bytes.',
  ])
  assert.equal(sizes.length, 1)
  const pause = (args: string) => ({ call: 1, kind: 'sleep', path: 'sleep', args })
  const message = { run: 1, memoryBytes: 1, logged: '', sandboxMs: 1 }
  assert.ok(isFromThread({ ...message, requests: [pause('{"ms":5}')] }))
  assert.ok(!isFromThread({ ...message, requests: [pause(' '.repeat(101))] }))
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
