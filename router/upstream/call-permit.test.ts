/** What a call releases while its caller is asked a question, and takes back afterwards, with a manual clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { Ask } from '../../core/mcp/caller.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { UpstreamCall } from '../../core/mcp/upstream.ts'
import { serverOf, snapshotOf, upstreamOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createPool } from './pool.ts'

const LIMITS = { callTimeoutMs: 60_000, startTimeoutMs: 30_000, concurrency: 1, maxResultBytes: 1_024 }
const QUESTION = { method: 'elicitation/create', params: { message: 'Sure?' } }
const MINUTE_MS = 60_000

test('the timeout of a call does not run while its caller is asked', async () => {
  const { pool, clock, answers, call } = start(asksOnce)
  const calling = call('a')
  await turn()
  clock.advance(9 * MINUTE_MS)
  await turn()
  assert.equal(pool.status()[0]?.asking, 1)
  answers[0]?.resolve({ result: { action: 'accept' } })
  assert.deepEqual(await calling, { result: { name: 'a' } })
  assert.equal(clock.pending(), 0)
})

test('after a question a call has the rest of its time', async () => {
  const { pool, clock, answers, call } = start(asksOnce, { hangs: true })
  const calling = call('a')
  calling.catch(() => {})
  await turn()
  clock.advance(9 * MINUTE_MS)
  answers[0]?.resolve({ result: {} })
  await turn()
  // A first call has the time for a start on top of its own.
  clock.advance(89_999)
  await turn()
  assert.equal(pool.status()[0]?.active, 1)
  clock.advance(1)
  await assert.rejects(calling, { code: 'upstream_timeout' })
})

test('while its caller is asked, a call gives its slot to another, and continues without waiting for it', async () => {
  const { pool, answers, call, order } = start(asksOnce)
  const first = call('first')
  await turn()
  assert.deepEqual([pool.status()[0]?.active, pool.status()[0]?.asking], [0, 1])
  const second = call('second')
  await turn()
  assert.deepEqual(order, ['first', 'second'])
  answers[0]?.resolve({ result: {} })
  assert.deepEqual(await first, { result: { name: 'first' } })
  answers[1]?.resolve({ result: {} })
  await second
  assert.deepEqual([pool.status()[0]?.active, pool.status()[0]?.asking], [0, undefined])
})

test('after several concurrent questions the last answer continues the call, and each slot is released once', async () => {
  const { pool, answers, call } = start(async (given, signal) => {
    await Promise.all([given.caller.ask?.(QUESTION, signal), given.caller.ask?.(QUESTION, signal)])
    return { result: {} }
  })
  const calling = call('a')
  await turn()
  answers[0]?.resolve({ result: {} })
  await turn()
  assert.deepEqual([pool.status()[0]?.active, pool.status()[0]?.asking], [0, 1])
  answers[1]?.resolve({ result: {} })
  await calling
  assert.equal(pool.status()[0]?.active, 0)
})

test('if the caller leaves during a question, the call ends, and its slot is released once', async () => {
  const { pool, call } = start(asksOnce)
  const leaving = new AbortController()
  const calling = call('a', leaving.signal)
  await turn()
  leaving.abort(new Fault('cancelled', 'nobody answered the question in time'))
  await assert.rejects(calling, { code: 'cancelled', message: 'nobody answered the question in time' })
  await turn()
  assert.deepEqual([pool.status()[0]?.active, pool.status()[0]?.asking], [0, undefined])
  const next = call('b')
  await turn()
  assert.equal(pool.status()[0]?.asking, 1)
  next.catch(() => {})
  await pool.close()
})

test('an unanswered question does not count as a failure of the upstream, and closes a half-open breaker', async () => {
  let broken = true
  const { pool, clock, call, answers } = start(async (given, signal) => {
    if (broken) throw new Fault('upstream_died', 'gone')
    return asksOnce(given, signal)
  })
  for (let failure = 0; failure < 5; failure++) await assert.rejects(call('a'), { code: 'upstream_died' })
  assert.equal(pool.status()[0]?.breaker.state, 'open')
  broken = false
  clock.advance(5_000)
  const calling = call('b')
  await turn()
  assert.equal(pool.status()[0]?.breaker.state, 'closed')
  answers[0]?.reject(new Fault('cancelled', 'nobody came back'))
  await assert.rejects(calling, { code: 'cancelled' })
  assert.equal(pool.status()[0]?.breaker.failures, 0)
})

test('a call whose server is removed during a question may take longer than the call timeout', async () => {
  const { pool, clock, answers, call, closed } = start(asksOnce)
  const calling = call('a')
  await turn()
  pool.update({ ...snapshotOf({}, {}, 1).config, servers: [] })
  clock.advance(4 * MINUTE_MS)
  await turn()
  assert.deepEqual(closed, [])
  answers[0]?.resolve({ result: {} })
  assert.deepEqual(await calling, { result: { name: 'a' } })
})

test('a call whose server is closed during a question fails with upstream_died, not cancelled', async () => {
  const ends = new AbortController()
  const { pool, clock, call } = start(async given => {
    void given.caller.ask?.(QUESTION, ends.signal)
    return new Promise((_resolve, reject) =>
      ends.signal.addEventListener('abort', () => reject(ends.signal.reason)),
    )
  })
  const calling = call('a')
  await turn()
  pool.update({ ...snapshotOf({}, {}, 1).config, servers: [] })
  clock.advance(5 * MINUTE_MS)
  await turn()
  ends.abort(new Fault('cancelled', 'The upstream was closed'))
  await assert.rejects(calling, { code: 'upstream_died' })
})

type Calls = (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse>

/** A call that asks once, and then answers with its name. */
const asksOnce: Calls = async ({ params, caller: { ask } }, signal) => {
  await ask?.(QUESTION, signal)
  return { result: { name: params?.name } }
}

/** Callers whose answers the test gives; `order`: the calls as they arrived. */
function start(work: Calls, { hangs = false } = {}) {
  const clock = createManualClock()
  const order: unknown[] = []
  const answers: PromiseWithResolvers<McpResponse>[] = []
  const upstream = upstreamOf(async (call, signal) => {
    order.push(call.params?.name)
    const answer = await work(call, signal)
    return hangs ? new Promise(() => {}) : answer
  })
  const closed: string[] = []
  const close = async () => void closed.push('forge')
  const pool = createPool({ connect: () => ({ ...upstream, close }), clock })
  pool.update({ ...snapshotOf({}, {}, 1).config, servers: [serverOf('forge', { limits: LIMITS })] })
  const ask: Ask = () => {
    const answer = Promise.withResolvers<McpResponse>()
    answers.push(answer)
    return answer.promise
  }
  const call = (name: string, signal = new AbortController().signal) =>
    pool.call('forge', callOf({ method: 'tools/call', params: { name }, ask }), signal)
  return { pool, clock, order, answers, call, closed }
}

/** Lets everything that is ready run. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
