/** Which part of a call's time counts as the server's, with a manual time of performance.now(). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { until } from '../support/until.ts'
import { createFixture, serverOf } from './fixture.ts'
import { forge, ISSUE } from './servers.ts'

function start(t: TestContext) {
  const time = { ms: 0 }
  t.mock.method(performance, 'now', () => time.ms)
  const pending: PromiseWithResolvers<McpResponse>[] = []
  const answer = () => {
    const next = Promise.withResolvers<McpResponse>()
    pending.push(next)
    return next.promise
  }
  const limits = { ...serverOf('forge').limits, concurrency: 1 }
  const fixture = createFixture({ forge: { ...forge, server: { limits }, answer } })
  const { pool, seen } = fixture
  return {
    ...{ fixture, pending, time },
    call: (signal = new AbortController().signal) => fixture.call('execute_mcp_tool', ISSUE, { signal }),
    untilWaiting: (count: number) => until(() => pool.status()[0]?.waiting === count),
    times: () => seen.calls.map(({ outcome, totalMs, upstreamMs }) => [outcome, totalMs, upstreamMs]),
  }
}

test("the wait for a slot is the router's time, and the server's begins when the call is sent", async t => {
  const { pending, time, call, untilWaiting, times } = start(t)
  const calls = [call(), call()]
  await untilWaiting(1)
  time.ms = 5_000
  pending[0]?.resolve({ result: { content: [] } })
  await until(() => pending.length === 2)
  time.ms = 7_000
  pending[1]?.resolve({ result: { content: [] } })
  await Promise.all(calls)
  assert.deepEqual(times(), [
    ['ok', 5_000, 5_000],
    ['ok', 7_000, 2_000],
  ])
})

test('a call that was never sent takes no time of the server', async t => {
  const { pending, time, call, untilWaiting, times } = start(t)
  const leaving = new AbortController()
  const first = call()
  const second = call(leaving.signal)
  await untilWaiting(1)
  time.ms = 3_000
  leaving.abort()
  await second
  pending[0]?.resolve({ result: { content: [] } })
  await first
  assert.deepEqual(times(), [
    ['cancelled', 3_000, 0],
    ['ok', 3_000, 3_000],
  ])
})
