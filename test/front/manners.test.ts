/** What a bare HTTP client of the 2025 era sees: media types, sizes, paths, sessions, batches, broken bodies. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isObject, type JsonObject } from '../../core/json.ts'
import { startEchoServer } from './echo-server.ts'
import { errorOf, LEGACY_HEADERS, legacy, modern, post } from './post.ts'

const CALL = { name: 'echo', arguments: { text: 'x' } }

test('the result of an upstream is passed on as the same text', async t => {
  const { url } = await startEchoServer(t)
  const answer = await post(url, legacy('tools/call', CALL, 'a"b'))
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/json')
  assert.equal(
    answer.text,
    '{"jsonrpc":"2.0","id":"a\\"b","result":{ "content": [{"type":"text","text":"{\\"text\\":\\"x\\"}"}] }}',
  )
})

test('initialize agrees to a known revision, and offers the newest to a client that asks for an unknown one', async t => {
  const { url } = await startEchoServer(t)
  for (const [asked, given] of [
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
  ]) {
    const { json, headers } = await post(
      url,
      legacy('initialize', { protocolVersion: asked, capabilities: {} }),
    )
    assert.equal((json.result as JsonObject).protocolVersion, given)
    assert.ok(headers.get('mcp-session-id'))
  }
})

test('a request that does not accept both kinds of answer gets 406, one that is not JSON 415', async t => {
  const { url } = await startEchoServer(t)
  for (const accept of ['application/json', 'text/event-stream', 'text/html', '']) {
    assert.equal((await post(url, legacy('ping'), { accept })).status, 406, accept)
  }
  for (const accept of ['*/*', 'text/event-stream;q=0.5, Application/JSON', 'application/*, text/*']) {
    assert.equal((await post(url, legacy('ping'), { accept })).status, 200, accept)
  }
  for (const type of ['text/plain', 'application/jsonp', 'application/x-www-form-urlencoded', 'nonsense']) {
    assert.equal((await post(url, legacy('ping'), { 'content-type': type })).status, 415, type)
  }
  assert.equal(
    (await post(url, legacy('ping'), { 'content-type': 'application/json; charset=utf-8' })).status,
    200,
  )
})

test('a body over the limit gets 413, with and without a length', async t => {
  const { url } = await startEchoServer(t)
  const big = legacy('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(5 << 20) } })
  const withLength = await post(url, big)
  assert.equal(withLength.status, 413)
  assert.match(String(errorOf(withLength).message), /at most 4194304 bytes/)
  const response = await fetch(url, {
    method: 'POST',
    headers: LEGACY_HEADERS,
    body: new Blob([JSON.stringify(big)]).stream(),
    duplex: 'half',
  } as RequestInit)
  assert.equal(response.status, 413)
  const json = (await response.json()) as JsonObject
  assert.match(String(errorOf({ json }).message), /at most 4194304 bytes/)
  const fits = legacy('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(3 << 20) } })
  assert.equal((await post(url, fits)).status, 200)
})

test('GET and other methods are answered 405 with the allowed ones, unknown paths 404', async t => {
  const { url, origin } = await startEchoServer(t)
  for (const method of ['GET', 'PUT', 'PATCH']) {
    const answer = await fetch(url, { method, headers: { accept: 'text/event-stream' } })
    assert.equal(answer.status, 405)
    assert.match(answer.headers.get('allow') ?? '', /POST.*DELETE/)
  }
  assert.equal((await fetch(`${origin}/.well-known/oauth-protected-resource`)).status, 404)
})

test('a profile is served if it is the default or allowed; a server is not, unless servers are exposed', async t => {
  const { origin } = await startEchoServer(t)
  assert.equal((await post(`${origin}/mcp/search`, legacy('tools/list'))).status, 200)
  assert.equal((await post(`${origin}/mcp/hierarchical`, legacy('tools/list'))).status, 200)
  const unknown = await post(`${origin}/mcp/direct`, legacy('tools/list'))
  assert.equal(unknown.status, 404)
  assert.match(String(errorOf(unknown).message), /served are: \/mcp\/hierarchical, \/mcp\/search/)
  assert.equal((await post(`${origin}/servers/github/mcp`, legacy('tools/list'))).status, 404)
})

test('before the first catalog the answer is 503 with Retry-After', async t => {
  const { url } = await startEchoServer(t, { config: () => undefined })
  const answer = await post(url, legacy('tools/list'))
  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), '1')
})

test('notifications and answers get 202 without a body', async t => {
  const { url } = await startEchoServer(t)
  for (const body of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 4, result: {} },
    { jsonrpc: '2.0', id: 4, error: { code: 1, message: 'no' } },
  ]) {
    const { status, text } = await post(url, body)
    assert.equal(status, 202)
    assert.equal(text, '')
  }
})

test('a session id is valid until its session ends, also after a restart with the same key', async t => {
  const first = await startEchoServer(t, { sessionKey: 'kept' })
  const { headers } = await post(first.url, legacy('initialize', { protocolVersion: '2025-11-25' }))
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
  const second = await startEchoServer(t, { sessionKey: 'kept' })
  assert.equal((await post(second.url, legacy('tools/list'), session)).status, 200)
  assert.ok(second.seen[0]?.caller.client)
  const stranger = await startEchoServer(t, { sessionKey: 'another' })
  const refused = await post(stranger.url, legacy('tools/list'), session)
  assert.equal(refused.status, 404)
  assert.equal(errorOf(refused).code, -32001)
  assert.equal((await fetch(second.url, { method: 'DELETE', headers: session })).status, 204)
  assert.deepEqual(second.forgotten, [second.seen[0]?.caller.client])
  assert.equal((await post(second.url, legacy('tools/list'), session)).status, 404)
  assert.equal((await fetch(second.url, { method: 'DELETE', headers: session })).status, 404)
  assert.equal((await fetch(second.url, { method: 'DELETE' })).status, 400)
})

test('a caller without a session is served without a client key', async t => {
  const { url, seen } = await startEchoServer(t)
  assert.equal((await post(url, legacy('tools/call', CALL))).status, 200)
  assert.equal(seen[0]?.caller.client, undefined)
})

test('a batch of an old revision is answered in one body, up to a bound, and refused from 2025-06-18 on', async t => {
  const { url } = await startEchoServer(t)
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const answer = await post(url, [legacy('ping', {}, 1), note, legacy('tools/call', CALL, 'two')])
  assert.equal(answer.status, 200)
  assert.deepEqual(
    JSON.parse(answer.text).map((one: JsonObject) => one.id),
    [1, 'two'],
  )
  assert.equal((await post(url, [note, note])).status, 202)
  const version = { 'mcp-protocol-version': '2025-06-18' }
  assert.match(
    String(errorOf(await post(url, [legacy('ping')], version)).message),
    /removed in protocol revision 2025-06-18/,
  )
  for (const bad of [
    [],
    Array(51).fill(legacy('ping')),
    [legacy('ping'), 7],
    [legacy('initialize')],
    [modern('tools/list')],
  ]) {
    assert.equal((await post(url, bad)).status, 400)
  }
})

test('an unknown revision in the header is refused, and the error names the supported ones', async t => {
  const { url } = await startEchoServer(t)
  const answer = await post(url, legacy('ping'), { 'mcp-protocol-version': '2023-01-01' })
  assert.equal(answer.status, 400)
  assert.match(String(errorOf(answer).message), /supported versions: 2025-11-25, 2025-06-18/)
})

test('a bug in the handler is answered without its details', async t => {
  const { url } = await startEchoServer(t)
  const answer = await post(url, legacy('tools/call', { name: 'broken' }))
  assert.deepEqual(errorOf(answer), { code: -32603, message: 'Internal error' })
})

test('any body gets a JSON-RPC answer, and the server keeps running', async t => {
  const { url } = await startEchoServer(t)
  const deep = '['.repeat(500_000)
  for (const body of ['', 'nonsense', '{"jsonrpc":"2.0"', deep, '\u0000', '[]', '7', 'null', '"x"']) {
    const answer = await post(url, body)
    assert.equal(answer.status, 400, body.slice(0, 20))
    assert.ok(isObject(answer.json.error))
  }
  const message = fc.record(
    {
      jsonrpc: fc.constantFrom('2.0', '1.0', 2),
      id: fc.oneof(fc.integer(), fc.string(), fc.double(), fc.constant(null), fc.object()),
      method: fc.oneof(
        fc.constantFrom('ping', 'tools/call', 'initialize', '__proto__', 'constructor'),
        fc.anything(),
      ),
      params: fc.oneof(fc.object(), fc.array(fc.anything()), fc.string()),
      result: fc.anything(),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, fc.array(message), fc.jsonValue()), async body => {
      const { status, text } = await post(url, JSON.stringify(body) ?? '')
      assert.ok([200, 202, 400].includes(status), `${status}`)
      if (status !== 202) JSON.parse(text)
    }),
    { numRuns: 150, seed: 20260728 },
  )
  const evil =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"x":1}}}}'
  assert.equal((await post(url, evil)).status, 200)
  assert.equal(({} as JsonObject).x, undefined)
})
