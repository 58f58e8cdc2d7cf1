/** HTTP of 2026-07-28: fields of answers, headers compared with bodies, and errors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { startEchoServer } from './echo-server.ts'
import { errorOf, legacy, modern, modernHeaders, post, streamed } from './post.ts'

const CALL = { name: 'echo', arguments: { text: 'x' } }

test("a 2026-07-28 answer has resultType complete, the server's name, and cache terms on lists", async t => {
  const { url } = await startEchoServer(t)
  const list = await post(url, modern('tools/list'), modernHeaders('tools/list'))
  assert.equal(list.status, 200)
  const result = list.json.result as JsonObject
  assert.equal(result.resultType, 'complete')
  assert.equal(result.ttlMs, 300_000)
  assert.equal(result.cacheScope, 'public')
  assert.deepEqual(result._meta, { 'io.modelcontextprotocol/serverInfo': { name: 'echo', version: '1.0.0' } })
  const call = await post(url, modern('tools/call', CALL), modernHeaders('tools/call', 'echo'))
  const called = call.json.result as JsonObject
  assert.deepEqual(Object.keys(called), ['resultType', '_meta', 'content'])
  assert.match(call.text, /"content": \[/)
  const discovered = await post(url, modern('server/discover'), modernHeaders('server/discover'))
  assert.deepEqual((discovered.json.result as JsonObject).supportedVersions, ['2026-07-28'])
})

test('headers that disagree with a 2026-07-28 body are refused with 400 and −32020', async t => {
  const { url, seen } = await startEchoServer(t)
  const right = modernHeaders('tools/call', 'echo')
  const cases: [string, Record<string, string>][] = [
    ['version differs', { ...right, 'mcp-protocol-version': '2025-11-25' }],
    ['version missing', { 'mcp-method': 'tools/call', 'mcp-name': 'echo' }],
    ['method differs', { ...right, 'mcp-method': 'tools/list' }],
    ['method missing', { 'mcp-protocol-version': '2026-07-28', 'mcp-name': 'echo' }],
    ['name differs', { ...right, 'mcp-name': 'hold' }],
    ['name missing', modernHeaders('tools/call')],
    ['name badly encoded', { ...right, 'mcp-name': '=?base64?!!?=' }],
  ]
  for (const [what, headers] of cases) {
    const answer = await post(url, modern('tools/call', CALL), headers)
    assert.equal(answer.status, 400, what)
    assert.equal(errorOf(answer).code, -32020, what)
    assert.equal(answer.json.id, 7, what)
  }
  const encoded = { ...right, 'mcp-name': `=?base64?${Buffer.from('echo').toString('base64')}?=` }
  assert.equal((await post(url, modern('tools/call', CALL), encoded)).status, 200)
  const regional = { name: 'regional', arguments: { region: 'eu' } }
  const named = modernHeaders('tools/call', 'regional')
  assert.equal((await post(url, modern('tools/call', regional), named)).status, 400)
  assert.equal(
    (await post(url, modern('tools/call', regional), { ...named, 'mcp-param-region': 'us' })).status,
    400,
  )
  assert.equal(
    (await post(url, modern('tools/call', regional), { ...named, 'mcp-param-region': 'eu' })).status,
    200,
  )
  assert.equal(seen.length, 2)
})

test('the error for a wrong 2026-07-28 request names the revision, method or envelope', async t => {
  const { url } = await startEchoServer(t)
  const key = 'io.modelcontextprotocol/protocolVersion'
  const future = await post(url, modern('tools/list', {}, { [key]: '2027-01-01' }), {
    ...modernHeaders('tools/list'),
    'mcp-protocol-version': '2027-01-01',
  })
  assert.equal(future.status, 400)
  assert.deepEqual(errorOf(future), {
    code: -32022,
    message: 'Unsupported protocol version: 2027-01-01',
    data: { supported: ['2026-07-28'], requested: '2027-01-01' },
  })
  for (const method of ['ping', 'initialize', 'logging/setLevel', 'tools/nonsense', 'prompts/list']) {
    const unknown = await post(url, modern(method), modernHeaders(method))
    assert.equal(unknown.status, 404, method)
    assert.equal(errorOf(unknown).code, -32601, method)
  }
  const bare = await post(url, legacy('tools/list'), modernHeaders('tools/list'))
  assert.equal(bare.status, 400)
  assert.equal(errorOf(bare).code, -32602)
  const incomplete = modern('tools/list', {}, { 'io.modelcontextprotocol/clientCapabilities': 7 })
  assert.equal(errorOf(await post(url, incomplete, modernHeaders('tools/list'))).code, -32602)
})

test('a 2026-07-28 subscription to what the server does not offer is acknowledged as empty, and ended', async t => {
  const { url } = await startEchoServer(t)
  const body = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  const answer = await post(url, body, modernHeaders('subscriptions/listen'))
  assert.equal(answer.headers.get('content-type'), 'text/event-stream')
  const [acknowledged, ended] = streamed(answer.text)
  assert.equal(acknowledged?.method, 'notifications/subscriptions/acknowledged')
  assert.deepEqual((acknowledged?.params as JsonObject).notifications, {})
  assert.equal((ended?.result as JsonObject).resultType, 'complete')
})
