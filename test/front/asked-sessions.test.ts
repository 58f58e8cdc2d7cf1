/** Questions on the streams of 2025 sessions: which answer counts, how long a question waits, and what ends it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { until } from '../support/until.ts'
import { ANSWERS, CAN_ALL, QUESTIONS } from '../upstreams/asking/questions.ts'
import { type AskingFront, startAskingFront } from './asking-front.ts'
import { beginSession, type EventReader, readEvents } from './event-reader.ts'
import { errorOf, legacy, post } from './post.ts'

const TEN_MINUTES_MS = 10 * 60_000
const ONE = { questions: [QUESTIONS.form] }

type Session = Record<string, string>

function call(t: TestContext, { url }: AskingFront, session: Session, name: string, args: JsonObject = ONE) {
  return readEvents(t, url, session, legacy('tools/call', { name, arguments: args }, 'call'))
}

function respond(
  { url }: AskingFront,
  session: Session,
  question: JsonObject | undefined,
  result: JsonObject,
) {
  return post(url, { jsonrpc: '2.0', id: question?.id, result }, session)
}

async function answerOf(reader: EventReader): Promise<JsonObject> {
  const { result } = (await reader.next()) as { result: { content: [{ text: string }] } }
  return JSON.parse(result.content[0].text)
}

test('a question is sent on the stream of its call, and answered by another POST', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, CAN_ALL)
  const reader = await call(t, front, session, 'ask')
  const question = await reader.next()
  assert.deepEqual(question, { jsonrpc: '2.0', id: question?.id, ...QUESTIONS.form })
  assert.match(String(question?.id), /^portolan~/)
  const { status, text } = await respond(front, session, question, ANSWERS.form)
  assert.deepEqual([status, text], [202, ''])
  assert.deepEqual(await answerOf(reader), [{ result: ANSWERS.form }])
})

test('a question can be answered only by its session, and once', async t => {
  const front = await startAskingFront(t)
  const [own, other] = [await beginSession(front.url, CAN_ALL), await beginSession(front.url, CAN_ALL)]
  const [reader, others] = [await call(t, front, own, 'ask'), await call(t, front, other, 'ask')]
  const [question, theirs] = [await reader.next(), await others.next()]
  const stolen = { action: 'accept', content: { name: 'Eve' } }
  await respond(front, other, question, stolen)
  await respond(front, own, theirs, stolen)
  await respond(front, {}, question, stolen)
  await respond(front, own, question, ANSWERS.form)
  await respond(front, own, question, stolen)
  assert.deepEqual(await answerOf(reader), [{ result: ANSWERS.form }])
  await respond(front, other, theirs, { action: 'decline' })
  assert.deepEqual(await answerOf(others), [{ result: { action: 'decline' } }])
})

test('a question ends after ten minutes, its client is notified, and until then its stream gets heartbeats', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, CAN_ALL)
  const reader = await call(t, front, session, 'ask')
  const question = await reader.next()
  const heartbeat = reader.beat()
  front.clock.advance(15_000)
  await heartbeat
  front.clock.advance(TEN_MINUTES_MS - 15_000)
  const notification = await reader.next()
  assert.equal(notification?.method, 'notifications/cancelled')
  assert.equal((notification?.params as JsonObject).requestId, question?.id)
  const { error } = (await reader.next()) as { error: JsonObject }
  assert.match(String(error.message), /did not answer the question within 10 min/)
  assert.equal((await respond(front, session, question, ANSWERS.form)).status, 202)
  assert.equal(front.clients.asks.size, 0)
})

test('the question ends if its client cancels the call, leaves or ends its session', async t => {
  const front = await startAskingFront(t)
  for (const leave of ['cancel', 'close', 'delete'] as const) {
    const session = await beginSession(front.url, CAN_ALL)
    const reader = await call(t, front, session, 'ask')
    await reader.next()
    const ended = front.ended.length
    const signal = front.seen.at(-1)?.caller.signal as AbortSignal
    const gone = leave === 'delete' ? undefined : once(signal, 'abort')
    if (leave === 'close') reader.close()
    if (leave === 'cancel') {
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'call' } }
      assert.equal((await post(front.url, cancelled, session)).status, 202)
    }
    if (leave === 'delete') {
      assert.equal((await fetch(front.url, { method: 'DELETE', headers: session })).status, 204)
      assert.match(String(((await reader.next())?.error as JsonObject).message), /went away/)
    }
    await gone
    await new Promise(setImmediate)
    assert.ok(front.ended.length > ended, leave)
    assert.equal(front.clients.asks.size, 0, leave)
  }
  assert.deepEqual(front.strays, [])
})

test('ending a session ends its waiting calls, also those in a batch, and no others', async t => {
  const front = await startAskingFront(t)
  const hang = (session: Session) => call(t, front, session, 'askAndHang', { questions: [] })
  const [own, other] = [await beginSession(front.url), await beginSession(front.url)]
  const readers = [await hang(own), await hang(other)]
  const batch = post(
    front.url,
    [legacy('tools/call', { name: 'askAndHang', arguments: { questions: [] } })],
    own,
  )
  await until(() => front.seen.length >= 3)
  await fetch(front.url, { method: 'DELETE', headers: own })
  await batch
  assert.deepEqual(
    front.ended.map(({ message }) => message),
    Array(2).fill('The client ended its session.'),
  )
  assert.equal(front.inFlight.size, 1)
  for (const reader of readers) reader.close()
})

test('a batch gets questions and notifications on an event stream, and each answer as an event', async t => {
  const front = await startAskingFront(t)
  const session = { ...(await beginSession(front.url, CAN_ALL)), 'mcp-protocol-version': '2025-03-26' }
  const questions = [QUESTIONS.roots]
  const ask = (name: string, id: number) => legacy('tools/call', { name, arguments: { questions } }, id)
  const reader = await readEvents(t, front.url, session, [
    ask('ask', 1),
    ask('input', 2),
    legacy('ping', {}, 3),
  ])
  for (const question of [await reader.next(), await reader.next()])
    await respond(front, session, question, ANSWERS.roots)
  const answers = [await reader.next(), await reader.next(), await reader.next()]
  assert.deepEqual(
    answers.map(answer => answer?.id),
    [1, 2, 3],
  )
  assert.ok(answers.every(answer => answer?.result))
  assert.equal(await reader.next(), undefined)
})

test('a question that the server cancels is cancelled at the client', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, CAN_ALL)
  const reader = await call(t, front, session, 'askAndGo')
  const question = await reader.next()
  const notification = await reader.next()
  const reason = 'The server does not want to know any more.'
  assert.deepEqual(notification?.params, { requestId: question?.id, reason })
  assert.deepEqual(await answerOf(reader), 'went on' as unknown)
})

test('a client can have 32 open questions; further ones are refused to the server', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, CAN_ALL)
  const questions = Array.from({ length: 33 }, () => QUESTIONS.roots)
  const reader = await call(t, front, session, 'ask', { questions })
  const asked = []
  for (let count = 0; count < 32; count++) asked.push(await reader.next())
  for (const question of asked) await respond(front, session, question, ANSWERS.roots)
  const answers = (await answerOf(reader)) as unknown as JsonObject[]
  assert.equal(answers.filter(({ result }) => result).length, 32)
  assert.match(JSON.stringify(answers.at(-1)), /too many questions/)
})

test('an answer for a replica that is gone is refused with advice, one with an invalid id is ignored', async t => {
  const front = await startAskingFront(t)
  const gone = await startAskingFront(t, { owner: 'two' })
  const session = await beginSession(gone.url, CAN_ALL)
  const question = await (await call(t, gone, session, 'ask')).next()
  const refused = await respond(front, session, question, ANSWERS.form)
  assert.equal(refused.status, 400)
  assert.equal(errorOf(refused).code, -32602)
  assert.match(String(errorOf(refused).message), /call the tool again/)
  for (const id of ['portolan~', 7, `${question?.id}x`])
    assert.equal((await respond(front, session, { id }, ANSWERS.form)).status, 202)
})

test('the body of an answer names the replica that asked', async t => {
  const front = await startAskingFront(t, { owner: 'two' })
  const { ownerOfBody } = front.sessions
  const session = await beginSession(front.url, CAN_ALL)
  const question = await (await call(t, front, session, 'ask')).next()
  const body = JSON.stringify({ jsonrpc: '2.0', id: question?.id, result: {} })
  assert.equal(ownerOfBody(body), 'two')
  assert.equal(ownerOfBody(`{"text":"portolan~","more":["portolan~x"],"a":${body}}`), 'two')
  assert.equal(ownerOfBody(body.replace('.two.', '.six.')), undefined)
  assert.equal(ownerOfBody(JSON.stringify({ id: session['mcp-session-id'] })), undefined)
  assert.equal(ownerOfBody('portolan~'.repeat(100_000)), undefined)
  front.clock.advance(TEN_MINUTES_MS)
  assert.equal(ownerOfBody(body), undefined)
})

test('a cancellation of an unknown request is forwarded with its session, and so is a change of roots', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } }
  assert.equal((await post(front.url, body, session)).status, 202)
  assert.equal((await post(front.url, body)).status, 202)
  assert.deepEqual(front.strays, [JSON.stringify(body)])
  for (const method of ['notifications/initialized', 'notifications/roots/list_changed'])
    await post(front.url, { jsonrpc: '2.0', method }, session)
  assert.deepEqual(
    front.notified.map(({ notification }) => notification.method),
    ['notifications/roots/list_changed'],
  )
})

test('when the drain ends, a call with an open question is answered with an error', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, CAN_ALL)
  const reader = await call(t, front, session, 'ask')
  await reader.next()
  front.end()
  const drained = front.drain(1_000)
  front.clock.advance(1_000)
  assert.equal((await reader.next())?.method, 'notifications/cancelled')
  assert.match(String(((await reader.next())?.error as JsonObject).message), /shutting down/)
  await drained
})
