/** The address of a replica that ended now belongs to another program: it gets no request of a client, and none of its answers are passed on. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { JsonObject } from '../../core/json.ts'
import { createSessions } from '../../core/mcp/server/session-ids.ts'
import { ownerAt } from '../../router/http/owner.ts'
import { legacy, post } from '../front/post.ts'
import { until } from '../support/until.ts'
import { type Replica, startReplica } from './replica.ts'

const TOKEN = { authorization: 'Bearer of the client' }
const WHO = legacy('tools/call', { name: 'who', arguments: {} })
const SUBSCRIBE = legacy('resources/subscribe', { uri: 'x:y' })
const CANCEL = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }

test('requests for a replica whose address another program has are answered as if the replica had ended', async t => {
  const stranger = await startStranger(t)
  const start = () => startReplica(t, { sessions: 'perClient' })
  const [first, second] = [await start(), await start()]
  const headers = { ...TOKEN, ...stranger.session }
  const answer = await post(first.url, WHO, headers)
  assert.match(answer.text, new RegExp(`"text":"${first.port}"`))
  assert.equal((await post(second.url, SUBSCRIBE, headers)).status, 404)
  const stream = await fetch(first.url, { headers: { accept: 'text/event-stream', ...headers } })
  assert.equal(stream.status, 404)
  stranger.expectNoRequest()
})

test('a program that gets its proof from a true replica is not taken for one', async t => {
  const first = await startReplica(t)
  const stranger = await startStranger(t, first)
  const second = await startReplica(t)
  const answer = await post(second.url, SUBSCRIBE, { ...TOKEN, ...stranger.session })
  assert.equal(answer.status, 404)
  stranger.expectNoRequest()
  assert.equal(first.subscribed.length, 0)
})

test('a cancellation that may be meant for any replica is sent to none whose address another program has', async t => {
  const [stranger, first, second] = [await startStranger(t), await startReplica(t), await startReplica(t)]
  await post(second.url, WHO, stranger.session)
  const session = { 'mcp-session-id': idOf(first.port) }
  await post(second.url, WHO, session)
  const called = first.called('hold')
  const held = post(first.url, legacy('tools/call', { name: 'hold', arguments: {} }, 5), session)
  const { signal } = (await called).caller
  assert.equal((await post(second.url, CANCEL, { ...TOKEN, ...session })).status, 202)
  await held
  assert.equal(signal.aborted, true)
  await until(() => stranger.paths.length > 0)
  stranger.expectNoRequest()
})

/** The id of a session that began at a replica on this port. */
function idOf(port: number): string {
  const owner = ownerAt('127.0.0.1', port)
  return createSessions({ key: 'the key of all', owner, clock: systemClock }).issue()
}

/** A program that answers every request; with a replica, it answers GET requests as that replica does. */
async function startStranger(t: TestContext, replica?: Replica) {
  const paths: string[] = []
  const received: JsonObject[] = []
  const server = createServer(async (request, response) => {
    const { method, url = '', headers } = request
    paths.push(url)
    if (method !== 'GET' || headers.authorization !== undefined) received.push({ method: `${method}`, url })
    const relayed = replica && method === 'GET' ? await fetch(new URL(url, replica.url)) : undefined
    response.end(relayed ? await relayed.text() : '{"jsonrpc":"2.0","id":1,"result":{}}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    paths,
    session: { 'mcp-session-id': idOf((server.address() as AddressInfo).port) },
    expectNoRequest: () => assert.deepEqual(received, []),
  }
}
