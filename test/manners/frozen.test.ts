/** A replica that accepts connections and never answers, as if its process were frozen or its machine unreachable. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createSessions } from '../../core/mcp/server/session-ids.ts'
import { createInternalCredentials } from '../../router/access/internal-credential.ts'
import { ownerAt } from '../../router/http/owner.ts'
import { HEALTH_CHECK_INTERVAL_MS, HEALTH_CHECK_TIMEOUT_MS } from '../../router/http/silence.ts'
import { legacy, post } from '../front/post.ts'
import { createManualClock, type ManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { startReplica } from './replica.ts'

const WHO = legacy('tools/call', { name: 'who', arguments: {} })
const SUBSCRIBE = legacy('resources/subscribe', { uri: 'x:y' })

test('requests that wait for a frozen owner get an error; later calls are served without it, and subscriptions get 404', async t => {
  const clock = createManualClock()
  const frozen = await startFrozen(t, clock, 'after its proof')
  const replica = await startReplica(t, { clock, sessions: 'perClient' })
  const session = { 'mcp-session-id': idOf(frozen.port, clock) }
  const asked = [
    post(replica.url, WHO, session),
    post(replica.url, [SUBSCRIBE, { ...WHO, id: 2 }], session),
    fetch(replica.url, { headers: { accept: 'text/event-stream', ...session } }),
  ]
  await frozen.reached(3)
  clock.advance(HEALTH_CHECK_INTERVAL_MS)
  await frozen.reached(4)
  clock.advance(HEALTH_CHECK_TIMEOUT_MS)
  // What the owner received may take effect: a client that repeats a call might make it twice.
  assert.deepEqual(await statuses(asked), [502, 502, 404])
  assert.equal(replica.seen.length, 0)
  assert.equal((await post(replica.url, WHO, session)).status, 200)
  assert.equal((await post(replica.url, SUBSCRIBE, session)).status, 404)
})

test('an owner that was frozen before the request is sent nothing: calls are served without it', async t => {
  const clock = createManualClock()
  const frozen = await startFrozen(t, clock, 'at once')
  const replica = await startReplica(t, { clock, sessions: 'perClient' })
  const session = { 'mcp-session-id': idOf(frozen.port, clock) }
  const asked = [post(replica.url, WHO, session), post(replica.url, SUBSCRIBE, session)]
  // It is asked for a proof twice.
  for (const times of [1, 2]) {
    await frozen.reached(times)
    clock.advance(HEALTH_CHECK_TIMEOUT_MS)
  }
  assert.deepEqual(await statuses(asked), [200, 404])
  assert.equal(replica.seen.length, 1)
  assert.deepEqual(await statuses([post(replica.url, WHO, session)]), [200])
})

test('a slow owner is waited for while it answers health checks', async t => {
  const clock = createManualClock(Date.now())
  const [first, second] = [await startReplica(t), await startReplica(t, { clock, sessions: 'perClient' })]
  const session = { 'mcp-session-id': idOf(first.port, clock) }
  const called = first.called('hold')
  const held = post(second.url, legacy('tools/call', { name: 'hold', arguments: {} }, 5), session)
  const { signal } = (await called).caller
  const pendingBefore = clock.pending()
  for (let check = 0; check < 5; check++) {
    clock.advance(HEALTH_CHECK_INTERVAL_MS)
    await until(() => clock.pending() <= pendingBefore)
  }
  assert.equal(signal.aborted, false)
  const cancel: JsonObject = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
  assert.equal((await post(second.url, cancel, session)).status, 202)
  assert.equal((await held).status, 202)
})

/** The id of a session that began at the replica on this port. */
function idOf(port: number, clock: ManualClock): string {
  return createSessions({ key: 'the key of all', owner: ownerAt('127.0.0.1', port), clock }).issue()
}

async function statuses(asked: Promise<{ status: number }>[]): Promise<number[]> {
  return (await Promise.all(asked)).map(({ status }) => status)
}

/** Answers challenges, unless it is frozen at once, and no other requests. */
async function startFrozen(t: TestContext, clock: ManualClock, when: 'at once' | 'after its proof') {
  const { prove } = createInternalCredentials('the key of all', clock)
  let requests = 0
  const server = createServer(({ url = '', headers: { host } }, response) => {
    const [, challenge] = /^\/replica\/(.+)$/.exec(url) ?? []
    if (challenge !== undefined && when === 'after its proof')
      return response.end(prove(`http://${host}`, challenge))
    requests++
    server.emit('reached')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    async reached(count: number) {
      while (requests < count) await once(server, 'reached')
    },
  }
}
