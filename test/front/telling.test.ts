/** What the front passes on besides questions: log messages by level, headers, the body, and the server's description. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { startAskingFront } from './asking-front.ts'
import { beginSession, readEvents } from './event-reader.ts'
import { errorOf, legacy, modern, modernHeaders, post, streamed } from './post.ts'

const LOG = { name: 'log' }
const LEVEL = 'io.modelcontextprotocol/logLevel'

function levelsOf(text: string): unknown[] {
  const messages = text.startsWith('{') ? [] : streamed(text)
  const logs = messages.filter(({ method }) => method === 'notifications/message')
  return logs.map(({ params }) => (params as JsonObject).level)
}

test('a 2025 session gets log messages of the level that it set, and the handler gets the level', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const log = async () => levelsOf((await post(front.url, legacy('tools/call', LOG), session)).text)
  assert.deepEqual(await log(), ['debug', 'info', 'warning', 'error'])
  const setLevel = (level: unknown, headers = session) =>
    post(front.url, legacy('logging/setLevel', { level } as JsonObject), headers)
  assert.deepEqual((await setLevel('warning')).json.result, {})
  assert.deepEqual(await log(), ['warning', 'error'])
  assert.equal(front.seen.at(-1)?.caller.logLevel, 'warning')
  assert.equal(errorOf(await setLevel('loud')).code, -32602)
  assert.equal(errorOf(await setLevel('debug', {})).code, -32600)
  const mute = await startAskingFront(t, { capabilities: {} })
  const refused = await post(
    mute.url,
    legacy('logging/setLevel', { level: 'info' }),
    await beginSession(mute.url),
  )
  assert.equal(errorOf(refused).code, -32601)
})

test('the level of a session also applies to messages between its calls', async t => {
  const front = await startAskingFront(t)
  const session = await beginSession(front.url)
  const { client } = front.sessions.find(session['mcp-session-id'] ?? '') ?? { client: '' }
  const stream = await readEvents(t, front.url, session)
  await post(front.url, legacy('logging/setLevel', { level: 'warning' }), session)
  for (const level of ['info', 'error'])
    assert.ok(front.clients.notify(client, { method: 'notifications/message', params: { level } }))
  assert.deepEqual((await stream.next())?.params, { level: 'error' })
})

test('a 2026 call gets log messages of the level that it names, otherwise none', async t => {
  const { url, seen } = await startAskingFront(t)
  const log = async (meta: JsonObject) =>
    levelsOf((await post(url, modern('tools/call', LOG, meta), modernHeaders('tools/call', 'log'))).text)
  assert.deepEqual(await log({}), [])
  assert.deepEqual(await log({ [LEVEL]: 'info' }), ['info', 'warning', 'error'])
  assert.equal(seen.at(-1)?.caller.logLevel, 'info')
})

test('methods that the newer era removed are unknown: setLevel, subscribe, ping', async t => {
  const { url, seen } = await startAskingFront(t)
  for (const method of [
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'ping',
    'initialize',
  ]) {
    const answer = await post(url, modern(method, { level: 'info', uri: 'x' }), modernHeaders(method))
    assert.deepEqual([answer.status, errorOf(answer).code], [404, -32601], method)
  }
  assert.equal(seen.length, 0)
})

test('headers for upstreams reach the handler unchanged, others do not, and too many are refused', async t => {
  const { url, seen } = await startAskingFront(t)
  const handed = { 'mcp-param-region': 'eu', traceparent: '00-1-2-01', tracestate: 'a=b', baggage: 'c=d' }
  const body = legacy('tools/call', { name: 'echo', arguments: { big: 1 } })
  await post(url, body, { ...handed, authorization: 'secret', cookie: 'x' })
  assert.deepEqual(seen.at(-1)?.caller.headers, handed)
  await post(url, body)
  assert.equal(seen.at(-1)?.caller.headers, undefined)
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`mcp-param-${at}`, 'x']))
  for (const headers of [many, { 'mcp-param-x': 'x'.repeat(8_200) }]) {
    const answer = await post(url, body, headers)
    assert.deepEqual([answer.status, answer.json.id], [431, 1])
  }
  assert.equal(seen.length, 2)
})

test('the text of a single request reaches the handler unchanged, that of a batch does not', async t => {
  const { url, seen } = await startAskingFront(t)
  const text =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":12345678901234567890}}}'
  await post(url, text)
  assert.equal(seen[0]?.text, text)
  await post(url, `[${text}]`)
  assert.equal(seen[1]?.text, undefined)
})

test("the server's own description is in initialize and server/discover", async t => {
  const { url } = await startAskingFront(t)
  const own = { 'portolan.dev/protocol': '2025-06-18' }
  const initialized = await post(url, legacy('initialize', { protocolVersion: '2024-11-05' }))
  const result = initialized.json.result as JsonObject
  assert.deepEqual([result.protocolVersion, result._meta], ['2024-11-05', own])
  const discovered = await post(url, modern('server/discover'), modernHeaders('server/discover'))
  assert.deepEqual((discovered.json.result as JsonObject)._meta, {
    ...own,
    'io.modelcontextprotocol/serverInfo': { name: 'asking', version: '1' },
  })
})

test('unknown methods are passed to the handler in both eras', async t => {
  const { url, seen } = await startAskingFront(t)
  await post(url, legacy('tasks/get', { taskId: 't' }))
  await post(url, modern('tasks/get', { taskId: 't' }), modernHeaders('tasks/get', 't'))
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['tasks/get', 'tasks/get'],
  )
})
