/** Messages of clients nested so deeply that JSON.stringify fails, and handlers that throw: every POST gets an answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { startAskingFront, UNLUCKY } from './asking-front.ts'
import { beginSession } from './event-reader.ts'
import { errorOf, legacy, modern, modernHeaders, post } from './post.ts'

const LEVELS = 100_000
const DEEP = `${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`
const BATCHES = { 'mcp-protocol-version': '2025-03-26' }

/** The text of a message, with a deep value in the place of every text `DEEP`. */
function deep(message: JsonObject | JsonObject[]): string {
  return JSON.stringify(message).replaceAll('"DEEP"', DEEP)
}

function notification(method: string, params: JsonObject = {}): JsonObject {
  return { jsonrpc: '2.0', method, params }
}

test('a notification with deep params is refused, alone and in a batch', async t => {
  const { url, notified } = await startAskingFront(t)
  const session = { ...(await beginSession(url)), ...BATCHES }
  const one = notification('notifications/custom', { a: 'DEEP' })
  for (const body of [one, [one, legacy('ping')]]) {
    const refused = await post(url, deep(body), session)
    assert.equal(refused.status, 400)
    assert.match(String(errorOf(refused).message), /nested more than 1000 levels deep/)
  }
  await post(url, notification('notifications/custom', { a: [1] }), session)
  assert.equal(notified.length, 1)
})

test('requests and responses with deep values are answered', async t => {
  const { url } = await startAskingFront(t)
  const session = { ...(await beginSession(url)), ...BATCHES }
  const call = { name: 'echo', arguments: { a: 'DEEP' }, _meta: { progressToken: 'DEEP', x: 'DEEP' } }
  const requests = [
    legacy('tools/call', call),
    legacy('initialize', { capabilities: { roots: { a: 'DEEP' } }, clientInfo: { name: 'DEEP' } }),
    legacy('logging/setLevel', { level: 'DEEP' }),
    legacy('resources/subscribe', { uri: 'DEEP' }),
    [legacy('tools/call', call), legacy('ping', { a: 'DEEP' })],
  ]
  for (const body of requests) assert.equal((await post(url, deep(body), session)).status, 200)
  const meta = { 'io.modelcontextprotocol/clientCapabilities': { roots: { a: 'DEEP' } } }
  const newer = modern('tools/call', call, meta)
  const answer = await post(url, deep(newer), modernHeaders('tools/call', 'echo'))
  assert.equal(errorOf(answer).message, 'Internal error')
  const listen = modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['DEEP'] } })
  assert.equal((await post(url, deep(listen), modernHeaders('subscriptions/listen'))).status, 200)
  for (const params of [{ result: { a: 'DEEP' } }, { error: { code: 1, message: 'no', data: 'DEEP' } }])
    assert.equal((await post(url, deep({ jsonrpc: '2.0', id: 'q', ...params }), session)).status, 202)
})

test('a batch is answered even if the handler throws for one of its notifications', async t => {
  const { url } = await startAskingFront(t)
  const session = { ...(await beginSession(url)), ...BATCHES }
  const { text } = await post(url, [notification(UNLUCKY), legacy('ping')], session)
  assert.deepEqual(JSON.parse(text), [{ jsonrpc: '2.0', id: 1, result: {} }])
})
