/** Requests of a script that fail unexpectedly, and pauses that are refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../core/async.ts'
import { createLog } from '../../core/log.ts'
import { createCaller } from '../../core/mcp/caller.ts'
import { codeOf } from '../../test/code/script-gateway.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import type { Work } from '../meta/meta-tool.ts'
import { MAX_SLEEPS, type SandboxReply } from './sandbox-messages.ts'
import { ScriptCalls } from './script-calls.ts'

type Given = { clock?: Clock; request?: () => never; logged?: string[] }

function callsOf({ clock = createManualClock(), request, logged = [] }: Given): ScriptCalls {
  const code = codeOf()
  return new ScriptCalls({
    work: { request: { caller: createCaller() }, limits: { request }, catalog: {} } as unknown as Work,
    code,
    limits: code.limits,
    clock,
    log: createLog({ destination: { write: line => void logged.push(line) } }),
    permit: async () => undefined,
    answerRounds: async () => ({ result: {} }),
    onMade: () => {},
  })
}

test('a request that fails unexpectedly is logged, and its reply is a failure', async () => {
  const logged: string[] = []
  const broken = () => {
    throw new TypeError('a bug')
  }
  const calls = callsOf({ request: broken, logged })
  const reply = await calls.answer({ call: 1, kind: 'call', path: 'a:b', args: '{}' })
  assert.deepEqual(reply, {
    isValue: false,
    json: '{"message":"The gateway failed unexpectedly.","kind":"unavailable","tool":"a:b"}',
  })
  assert.match(logged.join(''), /a request of a script failed unexpectedly/)
  await calls.settled()
})

function sleep(calls: ScriptCalls, ms: number): Promise<SandboxReply> {
  return calls.answer({ call: 1, kind: 'sleep', path: 'sleep', args: JSON.stringify({ ms }) })
}

test('a pause that is refused uses up nothing of the time that a script may sleep', async () => {
  const clock = createManualClock()
  const calls = callsOf({ clock })
  assert.match((await sleep(calls, 6_000)).json ?? '', /a script may sleep for 5000 ms in total/)
  const slept = sleep(calls, 5_000)
  clock.advance(5_000)
  assert.deepEqual(await slept, { isValue: true })
  assert.equal((await sleep(calls, 1)).isValue, false)
})

test('the number of pauses is limited also if the thread of the sandbox does not limit it', async () => {
  const clock = createManualClock()
  const calls = callsOf({ clock })
  const replies = Array.from({ length: MAX_SLEEPS + 1 }, () => sleep(calls, 0))
  assert.equal(clock.pending(), MAX_SLEEPS)
  clock.advance(0)
  assert.deepEqual((await Promise.all(replies)).map(({ isValue }) => isValue).indexOf(false), MAX_SLEEPS)
})

test('the arguments of open requests are limited also if the thread of the sandbox does not limit them', async () => {
  const clock = createManualClock()
  const calls = callsOf({ clock })
  const args = JSON.stringify({ ms: 0, text: 'x'.repeat(1_000_000) })
  const ask = () => calls.answer({ call: 1, kind: 'sleep', path: 'sleep', args })
  const replies = Array.from({ length: 9 }, ask)
  assert.equal(clock.pending(), 8)
  assert.match(
    (await replies[8])?.json ?? '',
    /"sleep was not called: [^"]*await some calls first\.","kind":"too_large"/,
  )
  clock.advance(0)
  await calls.settled()
  const next = ask()
  clock.advance(0)
  assert.deepEqual(await next, { isValue: true })
})
