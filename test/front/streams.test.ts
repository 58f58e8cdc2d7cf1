/** GET streams of 2025 clients: who may open one, what is sent on it, and how many there may be. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import type { ServerRequest } from '../../core/mcp/protocol/json-rpc.ts'
import { CHECK_EVERY_MS } from '../../core/mcp/server/subscriptions.ts'
import { legacyClient } from '../support/answering-clients.ts'
import { until } from '../support/until.ts'
import { ANSWERS, QUESTIONS } from '../upstreams/asking/questions.ts'
import { type AskingFront, DEAF_URI, startAskingFront } from './asking-front.ts'
import { beginSession, readEvents } from './event-reader.ts'
import { errorOf, legacy, modern, modernHeaders, post } from './post.ts'

const EVENTS = { accept: 'text/event-stream' }
const TOOLS_CHANGED = { method: 'notifications/tools/list_changed' }
const UPDATED = { method: 'notifications/resources/updated', params: { uri: 'note://one' } }

type Session = Record<string, string>

function listen(t: TestContext, { url }: AskingFront, session: Session) {
  return readEvents(t, url, { ...session, ...EVENTS })
}

function clientOf({ sessions }: AskingFront, session: Session): string {
  return sessions.find(session['mcp-session-id'] ?? '')?.client ?? ''
}

/** Sends a request of a session; resolves with the JSON of the answer. */
async function ask({ url }: AskingFront, session: Session, method: string, params: JsonObject = {}) {
  return (await post(url, legacy(method, params), session)).json
}

test('a GET with a wrong session, revision or Accept header is refused, and so is a DELETE with a wrong revision', async t => {
  const { url } = await startAskingFront(t)
  const session = await beginSession(url)
  const cases: [number, Record<string, string>][] = [
    [405, EVENTS],
    [404, { ...EVENTS, 'mcp-session-id': 'one.x.y.z' }],
    [405, { ...EVENTS, ...session, 'mcp-protocol-version': '2026-07-28' }],
    [406, { ...session, accept: 'application/json' }],
    [400, { ...EVENTS, ...session, 'mcp-protocol-version': '2025-01-01' }],
  ]
  for (const [status, headers] of cases) {
    const answer = await fetch(url, { headers })
    assert.equal(answer.status, status)
    const { error } = (await answer.json()) as { error: JsonObject }
    assert.equal(error.code, status === 404 ? -32001 : -32000)
    assert.equal(answer.headers.get('allow') !== null, status === 405)
  }
  for (const [version, status] of [
    ['2026-07-28', 405],
    ['2025-01-01', 400],
    ['2025-11-25', 204],
  ] as const) {
    const headers = { ...session, 'mcp-protocol-version': version }
    assert.equal((await fetch(url, { method: 'DELETE', headers })).status, status)
  }
})

test('a stream gets a heartbeat at once and every 15 s, and its events have no ids', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const stream = await listen(t, front, session)
  assert.equal(stream.status, 200)
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await stream.beat()
  const heartbeat = stream.beat()
  front.clock.advance(15_000)
  await heartbeat
  assert.equal(front.clients.notify(clientOf(front, session), UPDATED), true)
  assert.deepEqual(await stream.next(), { jsonrpc: '2.0', ...UPDATED })
})

test('notifications and questions go to the stream that a client opened last, if it declared them', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, { roots: {} })
  const client = clientOf(front, session)
  assert.equal(front.clients.notify(client, UPDATED), false)
  assert.equal(front.clients.asking(client, QUESTIONS.roots), undefined)
  await listen(t, front, session)
  const stream = await listen(t, front, session)
  assert.equal(front.clients.asking(client, QUESTIONS.sampling), undefined)
  const askRoots = front.clients.asking(client, QUESTIONS.roots)
  const answer = askRoots?.(QUESTIONS.roots, new AbortController().signal)
  const question = await stream.next()
  await post(front.url, { jsonrpc: '2.0', id: question?.id, result: ANSWERS.roots }, session)
  assert.deepEqual(await answer, { result: ANSWERS.roots })
})

test('a client that declared only pages can be asked to visit one between its calls, and nothing else', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url, { elicitation: { url: {} } })
  const stream = await listen(t, front, session)
  const asking = (question: ServerRequest) => front.clients.asking(clientOf(front, session), question)
  assert.equal(asking(QUESTIONS.form), undefined)
  const answer = asking(QUESTIONS.url)?.(QUESTIONS.url, new AbortController().signal)
  assert.ok(answer)
  const { id, method, params } = (await stream.next()) ?? {}
  assert.deepEqual({ method, params }, QUESTIONS.url)
  await post(front.url, { jsonrpc: '2.0', id, result: ANSWERS.url }, session)
  assert.deepEqual(await answer, { result: ANSWERS.url })
})

test('list_changed is sent once, however many streams a client has', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const [first, second] = [await listen(t, front, session), await listen(t, front, session)]
  assert.equal(front.listening.length, 2)
  assert.ok(front.listening.every(({ client }) => client === clientOf(front, session)))
  for (const { tell } of front.listening) tell(TOOLS_CHANGED)
  for (const { tell } of front.listening) tell({ method: 'notifications/prompts/list_changed' })
  assert.deepEqual(await second.next(), { jsonrpc: '2.0', ...TOOLS_CHANGED })
  const gone = once(front.listening[1]?.signal as AbortSignal, 'abort')
  second.close()
  await gone
  front.listening[0]?.tell(TOOLS_CHANGED)
  assert.deepEqual(await first.next(), { jsonrpc: '2.0', ...TOOLS_CHANGED })
})

test('the oldest of five streams of a session is ended, and all of them with the session', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const streams = []
  for (let count = 0; count < 5; count++) streams.push(await listen(t, front, session))
  assert.equal(await streams[0]?.next(), undefined)
  assert.equal(front.clients.streams.size, 4)
  await fetch(front.url, { method: 'DELETE', headers: session })
  for (const stream of streams) assert.equal(await stream.next(), undefined)
  assert.equal(front.clients.streams.size, 0)
  assert.equal((await listen(t, front, session)).status, 404)
})

test('streams are bounded: one more gets 503', async t => {
  const front = await startAskingFront(t, { maxStreams: 2 })
  const session = await beginSession(front.url)
  for (const status of [200, 200, 503]) assert.equal((await listen(t, front, session)).status, status)
})

test('subscriptions/listen streams of the 2026 era count towards the same limit', async t => {
  const front = await startAskingFront(t, { maxStreams: 1 })
  const session = await beginSession(front.url)
  const body = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const headers = modernHeaders('subscriptions/listen')
  const stream = await readEvents(t, front.url, headers, body)
  await stream.next()
  assert.equal((await listen(t, front, session)).status, 503)
  assert.match(String(errorOf(await post(front.url, body, headers)).message), /All event streams are in use/)
  stream.close()
  await until(() => front.inFlight.size === 0)
  assert.equal((await listen(t, front, session)).status, 200)
})

test('the shutdown ends streams, and no others are opened', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const stream = await listen(t, front, session)
  front.end()
  assert.equal(await stream.next(), undefined)
  assert.equal((await listen(t, front, session)).status, 503)
})

test('callers without a session may listen if that is allowed, and only for changed lists', async t => {
  const front = await startAskingFront(t, { openToAll: true })
  const stream = await listen(t, front, {})
  front.listening[0]?.tell(TOOLS_CHANGED)
  assert.deepEqual(await stream.next(), { jsonrpc: '2.0', ...TOOLS_CHANGED })
  const withoutChanges = await startAskingFront(t, { openToAll: true, capabilities: { tools: {} } })
  assert.equal((await listen(t, withoutChanges, {})).status, 405)
})

test('a client that does not read its stream is disconnected', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const { port } = new URL(front.url)
  const socket = connect(Number(port), '127.0.0.1')
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.write(
    `GET /mcp HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nmcp-session-id: ${session['mcp-session-id']}\r\n\r\n`,
  )
  await once(socket, 'readable')
  const params = { data: 'x'.repeat(100_000) }
  let sent = 0
  for (; front.clients.notify(clientOf(front, session), { method: 'x', params }); sent++)
    assert.ok(sent < 1_000)
  assert.ok(sent > 0)
  await until(() => front.clients.streams.size === 0)
})

test('a 2025 client subscribes, gets updates on its stream, and unsubscribes', async t => {
  const front = await startAskingFront(t)
  const { client, heard, transport } = await legacyClient(t, front.url)
  const session = { 'mcp-session-id': transport.sessionId ?? '' }
  await until(() => front.clients.streams.size > 0)
  await client.subscribeResource({ uri: 'note://one' })
  await client.subscribeResource({ uri: 'note://one' })
  assert.equal(front.subscribed.length, 1)
  const [{ uri, onUpdate, signal, caller }] = front.subscribed as [(typeof front.subscribed)[0]]
  assert.deepEqual([uri, caller.client], ['note://one', clientOf(front, session)])
  onUpdate(UPDATED)
  await until(() => heard.length > 0)
  assert.deepEqual(heard, [UPDATED])
  await client.unsubscribeResource({ uri: 'note://one' })
  assert.equal(signal.aborted, true)
  await client.subscribeResource({ uri: 'note://one' })
  await transport.terminateSession()
  assert.equal(front.subscribed[1]?.signal.aborted, true)
})

test('a subscription needs a session, a URI and a server with subscriptions, and a session has at most a thousand', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const uri = 'note://one'
  const errors = [
    await ask(front, {}, 'resources/subscribe', { uri }),
    await ask(front, session, 'resources/subscribe'),
    await ask(front, session, 'resources/subscribe', { uri: DEAF_URI }),
  ].map(json => errorOf({ json }).code)
  assert.deepEqual(errors, [-32600, -32602, -32601])
  assert.deepEqual((await ask(front, session, 'resources/unsubscribe', { uri: 'note://never' })).result, {})
  const batch = Array.from({ length: 50 }, (_, at) => at)
  for (let round = 0; round < 20; round++)
    await Promise.all(
      batch.map(at => ask(front, session, 'resources/subscribe', { uri: `${uri}/${round}/${at}` })),
    )
  assert.equal(front.subscribed.length, 1_000)
  const json = await ask(front, session, 'resources/subscribe', { uri })
  assert.match(String(errorOf({ json }).message), /unsubscribe from some first/)
  const mute = await startAskingFront(t, { capabilities: { resources: {} } })
  const refused = await ask(mute, await beginSession(mute.url), 'resources/subscribe', { uri })
  assert.equal(errorOf({ json: refused }).code, -32602)
})

test('the subscriptions of a client that has no stream for ten minutes are ended, and no others', async t => {
  const front = await startAskingFront(t)
  const [gone, back, there] = await Promise.all([1, 2, 3].map(() => beginSession(front.url)))
  for (const session of [gone, back, there] as Session[])
    await ask(front, session, 'resources/subscribe', { uri: 'note://one' })
  const [first] = [await listen(t, front, gone as Session), await listen(t, front, there as Session)]
  first.close()
  await until(() => front.clients.streams.size <= 1)
  front.clock.advance(CHECK_EVERY_MS)
  assert.equal(front.clients.subscriptions.size, 3)
  await listen(t, front, back as Session)
  front.clock.advance(CHECK_EVERY_MS)
  const aborted = front.subscribed.map(({ caller, signal }) => [caller.client, signal.aborted])
  assert.deepEqual(
    new Map(aborted as [string, boolean][]),
    new Map([gone, back, there].map(one => [clientOf(front, one as Session), one === gone])),
  )
  assert.equal(front.clients.subscriptions.size, 2)
})

test('a 2026 caller listens for the resources that can be subscribed to, which is acknowledged first', async t => {
  const front = await startAskingFront(t)
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourceSubscriptions: ['note://one', DEAF_URI],
  }
  const body = modern('subscriptions/listen', { notifications })
  const stream = await readEvents(t, front.url, modernHeaders('subscriptions/listen'), body)
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 }
  assert.deepEqual(await stream.next(), {
    jsonrpc: '2.0',
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: ['note://one'] }, _meta },
  })
  assert.equal(front.clients.subscriptions.size, 1)
  front.subscribed[0]?.onUpdate(UPDATED)
  assert.deepEqual((await stream.next())?.params, { uri: 'note://one', _meta })
  front.listening[0]?.tell(TOOLS_CHANGED)
  assert.equal((await stream.next())?.method, TOOLS_CHANGED.method)
  const heartbeat = stream.beat()
  front.clock.advance(15_000)
  await heartbeat
  front.end()
  assert.deepEqual((await stream.next())?.id, 7)
  assert.equal(front.subscribed[0]?.signal.aborted, true)
  assert.equal(front.clients.subscriptions.size, 0)
})

test('invalid filters of subscriptions/listen are refused', async t => {
  const { url } = await startAskingFront(t)
  for (const notifications of [
    undefined,
    [],
    { resourceSubscriptions: 'x' },
    { resourceSubscriptions: [1] },
  ]) {
    const answer = await post(
      url,
      modern('subscriptions/listen', { notifications }),
      modernHeaders('subscriptions/listen'),
    )
    assert.equal(errorOf(answer).code, -32602)
  }
})
