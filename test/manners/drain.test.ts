/** Shutdown of a router under load: no accepted call is lost, and endless streams are not waited for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, request } from 'undici'
import { GATHER_MS } from '../../core/mcp/server/held-call.ts'
import { LEGACY_HEADERS, legacy, modern, modernHeaders, post } from '../front/post.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { beginSession, openEvents } from './caller.ts'
import { startReplica } from './replica.ts'

const CALLERS = 16
const CALL = JSON.stringify(legacy('tools/call', { name: 'nap', arguments: {} }))

/** Errors of connections that the listening socket had not accepted when it closed: their requests were never read. */
const REFUSED = ['ECONNREFUSED', 'ECONNRESET']
/** Without a time to linger, an idle connection may be closed while a request is on its way. */
const CLOSED_IDLE = 'UND_ERR_SOCKET'

for (const [lingerMs, refused] of [
  [0, [...REFUSED, CLOSED_IDLE]],
  [200, REFUSED],
] as const) {
  test(`every accepted call is answered by a replica that still accepts calls for ${lingerMs} ms when it shuts down`, async t => {
    const replica = await startReplica(t, { lingerMs })
    const agent = new Agent({ keepAliveTimeout: 60_000 })
    t.after(() => agent.destroy())
    let answered = 0
    const callers = Array.from({ length: CALLERS }, async () => {
      for (;;) {
        try {
          const { statusCode, body } = await request(replica.url, {
            dispatcher: agent,
            method: 'POST',
            headers: LEGACY_HEADERS,
            body: CALL,
          })
          assert.equal(statusCode, 200)
          await body.dump()
          answered++
        } catch (error) {
          const { code } = error as { code?: string }
          return code
        }
      }
    })
    await until(() => answered >= 4 * CALLERS)
    const before = answered
    await replica.close(10_000)
    for (const code of await Promise.all(callers)) assert.ok(refused.includes(code ?? ''), code)
    assert.equal(answered, replica.seen.length)
    if (lingerMs > 0) assert.ok(answered > before)
  })
}

test('no forwarded call fails while the owner shuts down, since the owner announces it in time', async t => {
  const [owner, replica] = [
    await startReplica(t, { sessions: 'perClient', lingerMs: 2_000 }),
    await startReplica(t, { sessions: 'perClient' }),
  ]
  const session = await beginSession(owner.url)
  let isOver = false
  const statuses = new Set<number>()
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
      const { status, headers } = await post(replica.url, CALL, session)
      statuses.add(status)
      assert.equal(headers.get('portolan-ending'), null)
    }
  })
  await until(() => owner.seen.length >= 4 * CALLERS)
  assert.equal(replica.seen.length, 0)
  await owner.close(10_000)
  await until(() => replica.seen.length >= 4 * CALLERS)
  isOver = true
  await Promise.all(callers)
  assert.deepEqual([...statuses], [200])
})

test('streams, listeners and calls that wait for an answer end at the start of a shutdown', async t => {
  // Nobody advances the clock: what waits for the end of the drain never ends.
  const clock = createManualClock(Date.now())
  const replica = await startReplica(t, { clock })
  const session = await beginSession(replica.url)
  const stream = await openEvents(replica.url, session)
  const listening = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const listener = await openEvents(replica.url, modernHeaders('subscriptions/listen'), listening)
  assert.equal((await listener.next())?.method, 'notifications/subscriptions/acknowledged')
  const called = replica.called('ask')
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const ask = modern('tools/call', { name: 'ask', arguments: {} }, capabilities)
  const asked = post(replica.url, ask, modernHeaders('tools/call', 'ask'))
  const { signal } = (await called).caller
  clock.advance(GATHER_MS)
  const { json } = await asked
  assert.equal((json.result as { resultType?: string }).resultType, 'input_required')
  await replica.close(60_000)
  assert.equal(signal.aborted, true)
  assert.equal(await stream.next(), undefined)
  assert.equal((await listener.next())?.id, listening.id)
  assert.equal(await listener.next(), undefined)
})
