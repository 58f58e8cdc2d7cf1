/** Calls to a server that sleeps: real servers over HTTP that are started while calls wait for them. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { serverOf, snapshotOf } from '../../test/meta/fixture.ts'
import { callOf } from '../../test/support/call.ts'
import { freePort } from '../../test/support/free-port.ts'
import { startSdk1 } from '../../test/upstreams/http/sdk1.ts'
import { faultSentence } from '../meta/wording/sentences.ts'
import { createPool } from '../upstream/pool.ts'
import type { PoolCall } from '../upstream/pool-call.ts'
import { WakeRequests } from './wake-requests.ts'

const LIMITS = { callTimeoutMs: 10_000, startTimeoutMs: 20_000, concurrency: 16, maxResultBytes: 1_024 }
const ECHO = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } }

async function start(t: TestContext, more: Partial<RouterServer> = {}) {
  const port = await freePort()
  const wakes = new WakeRequests({ clock: systemClock })
  const connect = createConnector({ clock: systemClock, secret: () => undefined })
  const pool = createPool({ clock: systemClock, wakes, connect })
  t.after(() => pool.close())
  const endpoint = {
    kind: 'http',
    url: `http://127.0.0.1:${port}/mcp`,
    transport: 'streamable-http',
    revision: '1',
  } as const
  const server: RouterServer = {
    ...serverOf('sleeper'),
    endpoint,
    limits: LIMITS,
    sleep: { asleep: true },
    ...more,
  }
  const adopt = (changed: Partial<RouterServer>) =>
    pool.update(snapshotOf({}, { servers: [{ ...server, ...changed }] }, 1).config)
  adopt({})
  const call = (signal = new AbortController().signal) => pool.call('sleeper', callOf(ECHO), signal)
  /** Starts the server, as the operator does, which then says so in the config. */
  const wake = async (changed: Partial<RouterServer> = {}) => {
    const woken = await startSdk1('stateful', { port })
    t.after(() => woken.close())
    adopt({ sleep: { asleep: false }, ...changed })
    return woken
  }
  const untilReported = () =>
    new Promise<void>(resolve => {
      if (wakes.list().length > 0) return resolve()
      const stop = wakes.onChange(() => {
        stop()
        resolve()
      })
    })
  return { pool, wakes, server, adopt, call, wake, untilReported }
}

test('200 callers of a sleeping server wait for one start, and each call is sent once', async t => {
  const { wakes, call, wake, untilReported, pool } = await start(t)
  const calls = Array.from({ length: 200 }, () => call())
  await untilReported()
  assert.deepEqual(
    wakes.list().map(({ server }) => server),
    ['sleeper'],
  )
  assert.equal(pool.status()[0]?.held, 200)
  const woken = await wake()
  for (const answer of await Promise.all(calls)) assert.equal(answer.error, undefined)
  const sent = woken.log.filter(line => line === 'POST tools/call')
  assert.equal(sent.length, 200)
  assert.equal(woken.log.filter(line => line === 'POST initialize').length, 1)
  assert.deepEqual(wakes.list(), [])
})

test('a call counts as sent when its server is awake', async t => {
  const { pool, wake, untilReported } = await start(t)
  const times: PoolCall['times'] = {}
  const answer = pool.call('sleeper', { ...callOf(ECHO), times }, new AbortController().signal)
  await untilReported()
  assert.equal(times.sentMs, undefined)
  const wakingMs = performance.now()
  await wake()
  await answer
  assert.ok((times.sentMs ?? 0) >= wakingMs)
})

test('a call to a server that has ended wakes it again, and is sent once', async t => {
  const { call, wake, untilReported, pool } = await start(t)
  const first = await wake()
  await call()
  await first.close()
  // The client reads that its connections were closed, as it does long before a pod in a cluster ends.
  for (let at = 0; at < 3; at++) await new Promise(resolve => setImmediate(resolve))
  const times: PoolCall['times'] = {}
  const again = pool.call('sleeper', { ...callOf(ECHO), times }, new AbortController().signal)
  await untilReported()
  assert.equal(times.sentMs, undefined)
  const second = await wake()
  assert.equal((await again).error, undefined)
  assert.equal(second.log.filter(line => line === 'POST tools/call').length, 1)
  assert.equal(pool.status()[0]?.breaker.failures, 0)
})

test('a waiting call is still sent if the configuration of its server changes meanwhile', async t => {
  const { call, adopt, untilReported, wake, server } = await start(t)
  const waiting = call()
  await untilReported()
  const endpoint = { ...server.endpoint, revision: '2' }
  adopt({ endpoint })
  await wake({ endpoint })
  assert.equal((await waiting).error, undefined)
})

test('a caller that disconnects while it waits no longer counts as waiting', async t => {
  const { call, untilReported, wakes, pool } = await start(t)
  const leaving = new AbortController()
  const gone = call(leaving.signal)
  await untilReported()
  leaving.abort()
  await assert.rejects(gone, { code: 'cancelled' })
  assert.deepEqual(wakes.list(), [])
  assert.equal(pool.status()[0]?.held, undefined)
})

test('the error of a call that was not woken in time gives the reason', async t => {
  const { call, adopt, server } = await start(t, { limits: { ...LIMITS, startTimeoutMs: 300 } })
  const sentence = async () => {
    const error = await call().then(
      () => assert.fail('answered'),
      (error: unknown) => error,
    )
    assert.ok(error instanceof Fault)
    return faultSentence(error, server, undefined as never)
  }
  assert.match(await sentence(), /is asleep, and nobody can wake it now\. The call was not sent/)
  adopt({ sleep: { asleep: false } })
  assert.match(await sentence(), /is asleep, and could not be woken in 1 s\. The call/)
  adopt({ sleep: { asleep: false, problem: 'no node has room' } })
  assert.match(await sentence(), /is asleep, and could not be woken in 1 s: no node has room\. The call/)
})

test('a server is in use during calls, and idle before and after them', async t => {
  const { call, wake, pool } = await start(t)
  assert.ok((pool.status()[0]?.idleMs ?? -1) >= 0)
  const calls = [call(), call()]
  assert.equal(pool.status()[0]?.idleMs, undefined)
  await wake()
  await Promise.all(calls)
  assert.ok((pool.status()[0]?.idleMs ?? -1) >= 0)
})

test("a client's session keeps a server in use until the session is forgotten", async t => {
  const { pool, wake } = await start(t, { sessions: 'perClient' })
  await wake()
  const { signal } = new AbortController()
  await pool.call('sleeper', callOf({ ...ECHO, client: 'one' }), signal)
  assert.deepEqual([pool.status()[0]?.sessions, pool.status()[0]?.idleMs], [1, undefined])
  pool.forget('one')
  assert.equal(pool.status()[0]?.sessions, undefined)
  assert.ok((pool.status()[0]?.idleMs ?? -1) >= 0)
})
