/** The life of a request: streams, callers that leave or cancel, and graceful shutdown. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { startEchoServer } from './echo-server.ts'
import { LEGACY_HEADERS, legacy, modern, modernHeaders, post, streamed } from './post.ts'

const HOLD = legacy('tools/call', { name: 'hold' }, 5)

test('notifications before the answer turn it into an event stream that ends with the answer', async t => {
  const { url } = await startEchoServer(t)
  const body = legacy('tools/call', { name: 'progress', _meta: { progressToken: 'p' } })
  const answer = await post(url, body)
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const messages = streamed(answer.text)
  assert.deepEqual(
    messages.map(({ method, id }) => method ?? id),
    ['notifications/message', 'notifications/progress', 1],
  )
  assert.deepEqual((messages[2]?.result as JsonObject).content, [{ type: 'text', text: 'done' }])
})

test('a 2026-07-28 caller gets log messages only if it requested them', async t => {
  const { url } = await startEchoServer(t)
  const headers = modernHeaders('tools/call', 'progress')
  const methods = async (meta: JsonObject) =>
    streamed((await post(url, modern('tools/call', { name: 'progress' }, meta), headers)).text).map(
      one => one.method,
    )
  assert.deepEqual(await methods({}), ['notifications/progress', undefined])
  const asked = { 'io.modelcontextprotocol/logLevel': 'debug' }
  assert.deepEqual(await methods(asked), ['notifications/message', 'notifications/progress', undefined])
})

test('a reader that is too slow for the notifications misses some, and still gets the answer', async t => {
  const { url } = await startEchoServer(t)
  const { text } = await post(url, legacy('tools/call', { name: 'flood' }))
  assert.ok(text.length > 500_000 && text.length < 3_000_000, `${text.length} bytes`)
  assert.deepEqual((streamed(text).at(-1)?.result as JsonObject).content, [{ type: 'text', text: 'done' }])
})

test('an answer of several lines stays one event of a stream', async t => {
  const { url } = await startEchoServer(t)
  const { text } = await post(url, legacy('tools/call', { name: 'pretty' }))
  assert.deepEqual(streamed(text)[1]?.result, { content: [] })
})

test('a caller that goes away aborts its request', async t => {
  const server = await startEchoServer(t)
  const gone = new AbortController()
  const called = server.called('hold')
  const answer = fetch(server.url, {
    method: 'POST',
    headers: LEGACY_HEADERS,
    body: JSON.stringify(HOLD),
    signal: gone.signal,
  })
  const { signal } = (await called).caller
  gone.abort()
  await assert.rejects(answer)
  if (!signal.aborted) await once(signal, 'abort')
  assert.equal(signal.reason.code, 'cancelled')
})

test('a request can be cancelled by its own session only, and then gets no answer', async t => {
  const server = await startEchoServer(t)
  const session = async () => {
    const { headers } = await post(server.url, legacy('initialize', { protocolVersion: '2025-11-25' }))
    return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  }
  const [ours, theirs] = [await session(), await session()]
  const called = server.called('hold')
  const answer = post(server.url, HOLD, ours)
  const { signal } = (await called).caller
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } }
  assert.equal((await post(server.url, cancel, theirs)).status, 202)
  assert.equal((await post(server.url, cancel)).status, 202)
  assert.equal((await post(server.url, { ...cancel, params: { requestId: '5' } }, ours)).status, 202)
  assert.equal(signal.aborted, false)
  await post(server.url, cancel, ours)
  assert.equal(signal.reason.code, 'cancelled')
  const { status, text } = await answer
  assert.deepEqual([status, text], [202, ''])
})

test('close refuses new requests, waits for those in flight, then ends idle connections', async t => {
  const server = await startEchoServer(t)
  const called = server.called('hold')
  const answer = post(server.url, HOLD)
  await called
  const closed = server.close(60_000)
  await assert.rejects(post(server.url, legacy('ping')))
  server.release()
  assert.equal((await answer).status, 200)
  await closed
})

test('close aborts requests that take too long, which are still answered', async t => {
  const clock = createManualClock(Date.now())
  const server = await startEchoServer(t, { clock })
  const called = server.called('hold')
  const answer = post(server.url, HOLD)
  const { signal } = (await called).caller
  const closed = server.close(10_000)
  clock.advance(9_999)
  assert.equal(signal.aborted, false)
  const aborted = once(signal, 'abort')
  clock.advance(1)
  await aborted
  assert.deepEqual((await answer).json.result, { content: [], isError: true })
  await closed
})
