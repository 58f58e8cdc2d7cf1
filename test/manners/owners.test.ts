/** Replicas that share a key: each reaches the state that another owns, and says so if the owner is gone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { ownerAt } from '../../router/http/owner.ts'
import { errorOf, legacy, modern, modernHeaders, post } from '../front/post.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'
import { beginSession, openEvents } from './caller.ts'
import { startReplica } from './replica.ts'

const call = (name: string, id: string | number = 1) => legacy('tools/call', { name, arguments: {} }, id)
const textOf = (json: JsonObject) => ((json.result as JsonObject).content as { text: string }[])[0]?.text
const CHANGED = { method: 'notifications/tools/list_changed' }
const ELICITATION = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }

test('a call without state is answered by any replica, a stream by the owner of its session', async t => {
  const [first, second] = [await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  assert.equal(textOf((await post(second.url, call('who'), session)).json), `${second.port}`)
  const stream = await openEvents(second.url, session)
  assert.equal(stream.status, 200)
  assert.deepEqual([first.clients.streams.size, second.clients.streams.size], [1, 0])
  const client = second.seen[0]?.caller.client ?? ''
  first.clients.notify(client, CHANGED)
  assert.partialDeepStrictEqual(await stream.next(), CHANGED)
  stream.close()
  await until(() => first.clients.streams.size === 0)
})

test('calls of a session go to its owner if the server keeps state for each client', async t => {
  const [first, second] = [
    await startReplica(t, { sessions: 'perClient' }),
    await startReplica(t, { sessions: 'perClient' }),
  ]
  const session = await beginSession(first.url)
  assert.equal(textOf((await post(second.url, call('who'), session)).json), `${first.port}`)
  assert.equal(textOf((await post(second.url, call('who'))).json), `${second.port}`)
})

test('a forwarded stream ends cleanly when either replica ends', async t => {
  // Nobody advances the clock: a stream that a replica only breaks off at the end of its drain never ends.
  const clock = createManualClock(Date.now())
  const start = () => startReplica(t, { clock })
  const [first, second, third] = [await start(), await start(), await start()]
  const session = await beginSession(first.url)
  const [throughSecond, throughThird] = [
    await openEvents(second.url, session),
    await openEvents(third.url, session),
  ]
  const ends = throughSecond.next()
  await second.close(60_000)
  assert.equal(await ends, undefined)
  await first.close(60_000)
  assert.equal(await throughThird.next(), undefined)
})

test('subscriptions are forwarded to the owner, whose stream has the updates; any replica takes a log level', async t => {
  const [first, second, third] = [await startReplica(t), await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  const stream = await openEvents(third.url, session)
  const uri = 'file:///a'
  assert.deepEqual((await post(second.url, legacy('resources/subscribe', { uri }), session)).json.result, {})
  assert.equal((await post(second.url, legacy('logging/setLevel', { level: 'error' }), session)).status, 200)
  assert.deepEqual([first.subscribed.length, second.subscribed.length], [1, 0])
  const updated = { method: 'notifications/resources/updated', params: { uri } }
  first.subscribed[0]?.onUpdate(updated)
  assert.partialDeepStrictEqual(await stream.next(), updated)
  await post(third.url, legacy('resources/unsubscribe', { uri }), session)
  assert.equal(first.subscribed[0]?.signal.aborted, true)
  // Some clients write JSON with escaped slashes.
  const escaped = JSON.stringify(legacy('resources/subscribe', { uri: 'file:///b' })).replaceAll('/', '\\/')
  assert.deepEqual((await post(second.url, escaped, session)).json.result, {})
  assert.deepEqual([first.subscribed.length, second.subscribed.length], [2, 0])
})

test('the answer to a question reaches the asking replica from any replica', async t => {
  const [first, second, third] = [await startReplica(t), await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  const stream = await openEvents(second.url, session, call('ask', 'c'))
  const question = await stream.next()
  assert.equal(question?.method, 'elicitation/create')
  const answer = (x: number) => {
    return { jsonrpc: '2.0', id: question.id ?? null, result: { action: 'accept', content: { x } } }
  }
  const stranger = await beginSession(third.url)
  assert.equal((await post(third.url, answer(0), stranger)).status, 202)
  assert.equal((await post(third.url, answer(1), session)).status, 202)
  const result = await stream.next()
  assert.equal(result?.id, 'c')
  assert.equal(textOf(result), `${second.port} was told {"action":"accept","content":{"x":1}}`)
})

test('a 2026-07-28 call that is continued at another replica is answered by the first one', async t => {
  const [second, third] = [await startReplica(t), await startReplica(t)]
  const params = { name: 'ask', arguments: {} }
  const headers = modernHeaders('tools/call', 'ask')
  const asked = await post(second.url, modern('tools/call', params, ELICITATION), headers)
  const { resultType, requestState, inputRequests } = asked.json.result as JsonObject
  assert.equal(resultType, 'input_required')
  const [key = ''] = Object.keys(inputRequests as JsonObject)
  const inputResponses = { [key]: { action: 'decline' } }
  const again = { ...params, inputResponses, requestState: requestState ?? null }
  const answered = await post(third.url, modern('tools/call', again, ELICITATION), headers)
  assert.equal(textOf(answered.json), `${second.port} was told {"action":"decline"}`)
})

test('a cancellation reaches the call of its own session at whichever known replica it runs', async t => {
  const [first, second, third] = [await startReplica(t), await startReplica(t), await startReplica(t)]
  const [session, other] = [await beginSession(first.url), await beginSession(second.url)]
  await post(third.url, call('who'), other)
  const hold = async (headers: Record<string, string>) => {
    const called = second.called('hold')
    const held = post(second.url, call('hold', 5), headers)
    return { held, signal: (await called).caller.signal }
  }
  const [ours, theirs] = [await hold(session), await hold(other)]
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
  assert.equal((await post(third.url, cancel, other)).status, 202)
  assert.equal((await Promise.race([ours.held, theirs.held])).status, 202)
  assert.deepEqual([theirs.signal.aborted, ours.signal.aborted], [true, false])
  assert.equal((await post(third.url, cancel, session)).status, 202)
  assert.equal((await ours.held).status, 202)
  assert.equal(ours.signal.aborted, true)
})

test('if the owner is gone, streams and subscriptions get 404, answers are refused, and calls are served', async t => {
  const [first, second] = [await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  const stream = await openEvents(first.url, session, call('ask'))
  const question = await stream.next()
  const params = { name: 'ask', arguments: {} }
  const headers = modernHeaders('tools/call', 'ask')
  const asked = await post(first.url, modern('tools/call', params, ELICITATION), headers)
  await first.close()
  stream.close()
  const gone = await fetch(second.url, { headers: { accept: 'text/event-stream', ...session } })
  assert.equal(gone.status, 404)
  assert.equal(errorOf({ json: (await gone.json()) as JsonObject }).code, -32001)
  const subscribed = await post(second.url, legacy('resources/subscribe', { uri: 'x:y' }), session)
  assert.equal(subscribed.status, 404)
  const answer = { jsonrpc: '2.0', id: question?.id ?? null, result: { action: 'accept' } }
  const late = await post(second.url, answer, session)
  assert.equal(late.status, 400)
  assert.match(String(errorOf(late).message), /call the tool again/)
  const { requestState } = asked.json.result as JsonObject
  const again = modern('tools/call', { ...params, requestState: requestState ?? null }, ELICITATION)
  assert.equal(errorOf(await post(second.url, again, headers)).code, -32602)
  assert.equal(textOf((await post(second.url, call('who'), session)).json), `${second.port}`)
})

test('a call whose arguments contain a method of an owner is a call: any replica answers it if the owner is gone', async t => {
  const [first, second] = [await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  await first.close()
  const message = { method: 'resources/subscribe', params: {} }
  const called = legacy('tools/call', { name: 'who', arguments: { message } })
  const answer = await post(second.url, called, session)
  assert.equal(answer.status, 200)
  assert.equal(textOf(answer.json), `${second.port}`)
  const batch = [called, legacy('resources/subscribe', { uri: 'x:y' }, 2)]
  assert.equal((await post(second.url, batch, session)).status, 404)
})

test('forged ids are not forwarded, and forwarded requests are not forwarded again', async t => {
  const [first, second] = [await startReplica(t), await startReplica(t)]
  const forged = { 'mcp-session-id': `${ownerAt('127.0.0.1', first.port)}.nonce.zzzzzzzzz.forged` }
  assert.equal((await post(second.url, call('who'), forged)).status, 404)
  const session = await beginSession(first.url)
  const marked = { ...session, 'portolan-forwarded': '1' }
  const subscribed = await post(second.url, legacy('resources/subscribe', { uri: 'x:y' }), marked)
  assert.equal(subscribed.status, 200)
  assert.deepEqual([first.subscribed.length, second.subscribed.length], [0, 1])
  const stranger = await startReplica(t, { key: 'another' })
  assert.equal((await post(stranger.url, call('who'), session)).status, 404)
})

test('a client that does not read a forwarded stream is cut off at the owner', async t => {
  const [first, second] = [await startReplica(t), await startReplica(t)]
  const session = await beginSession(first.url)
  await post(first.url, call('who'), session)
  const stream = await openEvents(second.url, session)
  const client = first.seen[0]?.caller.client ?? ''
  const params = { data: 'x'.repeat(100_000), level: 'info' }
  let sent = 0
  while (first.clients.notify(client, { method: 'notifications/message', params }) && sent < 2_000) {
    sent++
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.ok(sent > 0 && sent < 2_000, `notifications are no longer accepted: ${sent}`)
  await until(() => first.clients.streams.size === 0)
  stream.close()
})
