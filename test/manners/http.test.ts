/** How the router answers HTTP in all its forms: methods, targets, versions, encodings, headers, and input that is not HTTP. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { OPEN_ACCESS } from '../../core/catalog/access-config.ts'
import { createLog } from '../../core/log.ts'
import { startRouter } from '../../router/router.ts'
import { createInProcessSource } from '../../router/source/in-process-source.ts'
import { startEchoServer } from '../front/echo-server.ts'
import { legacy, post } from '../front/post.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { until } from '../support/until.ts'
import { answersIn, ask, CLOSE, dial, HOST, MCP_LINES, PING, requestText, talk } from './raw.ts'

const LINES = [...MCP_LINES, CLOSE]

test('methods that are not served get 405 with an Allow header; unknown methods get 400', async t => {
  const { origin } = await startEchoServer(t)
  for (const method of ['PUT', 'PATCH', 'HEAD', 'TRACE']) {
    const answer = await ask(origin, requestText('/mcp', { method, lines: [HOST, CLOSE] }))
    assert.equal(answer.status, 405, method)
    assert.match(answer.head, /^allow: POST, GET, DELETE, OPTIONS$/im)
  }
  const options = await ask(origin, requestText('/mcp', { method: 'OPTIONS', lines: [HOST, CLOSE] }))
  assert.equal(options.status, 204)
  assert.match(options.head, /^allow: POST, GET, DELETE, OPTIONS$/im)
  assert.equal((await ask(origin, requestText('/mcp', { method: 'BREW', lines: [HOST, CLOSE] }))).status, 400)
  for (const page of ['/healthz', '/readyz'])
    assert.equal((await ask(origin, requestText(page, { method: 'HEAD', lines: [HOST, CLOSE] }))).status, 200)
})

test('a path may end in a slash, be percent-encoded, or be part of an absolute URL; other targets get an error', async t => {
  const { origin } = await startEchoServer(t)
  for (const target of [
    '/mcp/',
    '/%6dcp',
    '/mcp?x=1',
    '/mcp/search/',
    'http://localhost/mcp',
    'HTTP://LOCALHOST:1/mcp',
  ])
    assert.equal((await ask(origin, requestText(target, { lines: LINES, body: PING }))).status, 200, target)
  for (const [target, status] of [
    ['/MCP', 404],
    ['/mcp%2fsearch', 404],
    ['/mcp/%zz', 400],
    ['/mcp/%ff', 400],
    [`/mcp/${'x'.repeat(101)}`, 414],
    ['/../mcp', 404],
    ['/', 404],
    ['*', 404],
  ] as const) {
    const answer = await ask(origin, requestText(target, { lines: LINES, body: PING }))
    assert.equal(answer.status, status, target)
    assert.ok(answer.json.error, target)
  }
})

test('the host of an absolute URL as target is checked, whatever the header Host says', async t => {
  const { origin } = await startEchoServer(t)
  const answer = await ask(origin, requestText('http://evil.example/mcp', { lines: LINES, body: PING }))
  assert.equal(answer.status, 403)
})

test('a compressed body is refused with 415 and the accepted encodings', async t => {
  const { url } = await startEchoServer(t)
  for (const encoding of ['gzip', 'br', 'deflate', 'x']) {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    const answer = await fetch(url, { method: 'POST', headers, body: gzipSync(PING) })
    assert.equal(answer.status, 415)
    assert.equal(answer.headers.get('accept-encoding'), 'identity')
  }
  assert.equal((await post(url, legacy('ping'), { 'content-encoding': 'identity' })).status, 200)
})

test('HTTP/1.0 requests with a Host header are answered; requests without one are refused', async t => {
  const { origin } = await startEchoServer(t)
  const old = (lines: readonly string[]) =>
    requestText('/mcp', { lines, body: PING }).replace('HTTP/1.1', 'HTTP/1.0')
  const answer = await ask(origin, old(MCP_LINES))
  assert.equal(answer.status, 200)
  assert.match(answer.head, /^connection: close$/im)
  assert.equal((await ask(origin, old(MCP_LINES.filter(line => line !== HOST)))).status, 403)
  assert.equal((await ask(origin, requestText('/mcp', { lines: LINES.slice(1), body: PING }))).status, 400)
})

test('requests sent without waiting for answers are answered in their order', async t => {
  const { origin, release, called } = await startEchoServer(t)
  const hold = JSON.stringify(legacy('tools/call', { name: 'hold' }, 'first'))
  const first = requestText('/mcp', { lines: MCP_LINES, body: hold })
  const more = Array.from({ length: 50 }, (_, at) =>
    requestText('/mcp', {
      lines: at < 49 ? MCP_LINES : LINES,
      body: PING.replace('"id":1', `"id":${at}`),
    }),
  )
  const holding = called('hold')
  const talked = talk(origin, [first, ...more].join(''))
  await holding
  release()
  const ids = answersIn(await talked).map(({ json }) => json.id)
  assert.deepEqual(ids, ['first', ...more.keys()])
})

test('Expect: 100-continue is answered, other expectations fail', async t => {
  const { origin } = await startEchoServer(t)
  const text = await talk(
    origin,
    requestText('/mcp', { lines: [...LINES, 'expect: 100-continue'], body: PING }),
  )
  assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
  const other = await ask(origin, requestText('/mcp', { lines: [...LINES, 'expect: tea'], body: PING }))
  assert.equal(other.status, 417)
})

test('an Upgrade header is ignored, and a connection with CONNECT is closed without an answer', async t => {
  const { origin } = await startEchoServer(t)
  for (const protocol of ['websocket', 'h2c']) {
    const lines = [...MCP_LINES, 'connection: upgrade, close', `upgrade: ${protocol}`]
    assert.equal((await ask(origin, requestText('/mcp', { lines, body: PING }))).status, 200, protocol)
  }
  const tunnel = requestText('example.com:443', { method: 'CONNECT', lines: [HOST] })
  assert.equal(await talk(origin, tunnel), '')
})

test('two session ids get 404 like an unknown one; a second length of the body gets 400', async t => {
  const { url, origin } = await startEchoServer(t)
  const { headers } = await post(url, legacy('initialize', { protocolVersion: '2025-11-25' }))
  const session = `mcp-session-id: ${headers.get('mcp-session-id')}`
  const single = await ask(origin, requestText('/mcp', { lines: [...LINES, session], body: PING }))
  assert.equal(single.status, 200)
  const double = await ask(origin, requestText('/mcp', { lines: [...LINES, session, session], body: PING }))
  assert.equal(double.status, 404)
  for (const line of ['content-length: 3', 'transfer-encoding: chunked'])
    assert.equal(
      (await ask(origin, requestText('/mcp', { lines: [...LINES, line], body: PING }))).status,
      400,
    )
})

test('headers over 16 KiB get 431, and input that is not HTTP gets 400, both with an error message', async t => {
  const { origin } = await startEchoServer(t)
  const large = await ask(
    origin,
    requestText('/mcp', { lines: [...LINES, `x: ${'y'.repeat(20_000)}`], body: PING }),
  )
  assert.equal(large.status, 431)
  assert.match(large.body, /at most 16384 bytes/)
  for (const text of [
    'nonsense\r\n\r\n',
    'GET /mcp HTTP/9.9\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  ]) {
    const answer = await ask(origin, text)
    assert.equal(answer.status, 400, JSON.stringify(text))
    assert.ok(answer.json.error)
  }
})

test('malformed HTTP aborts the call before it; no error is written into an answer that has begun', async t => {
  const { origin, called } = await startEchoServer(t)
  const call = (name: string) =>
    requestText('/mcp', { lines: MCP_LINES, body: JSON.stringify(legacy('tools/call', { name })) })
  const holding = called('hold')
  const broken = talk(origin, call('hold'), 'nonsense\r\n\r\n')
  const { signal } = (await holding).caller
  assert.match(await broken, /^HTTP\/1\.1 400 /)
  if (!signal.aborted) await once(signal, 'abort')
  const socket = dial(origin)
  socket.on('error', () => {})
  socket.write(call('flood'))
  await once(socket, 'readable')
  socket.write('nonsense\r\n\r\n')
  let text = ''
  for await (const chunk of socket) text += chunk
  assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1)
})

test('anonymous access is logged once if other machines can reach the router, but not on loopback or with auth', async t => {
  const auth = { anonymous: false, jwt: [], revoked: [] }
  for (const [host, access, lines] of [
    ['0.0.0.0', OPEN_ACCESS, 1],
    ['0.0.0.0', { ...OPEN_ACCESS, auth }, 0],
    ['127.0.0.1', OPEN_ACCESS, 0],
    ['localhost', OPEN_ACCESS, 0],
  ] as const) {
    const logged = new PassThrough()
    const source = createInProcessSource()
    const router = await startRouter({
      source,
      connect: () => upstreamOf(echo),
      host,
      port: 0,
      log: createLog({ destination: logged }),
    })
    t.after(() => router.close(0))
    for (const generation of [1, 2]) {
      source.publish(snapshotOf({}, { access }, generation))
      await until(() => router.catalog()?.generation === generation)
    }
    const warnings = String(logged.read() ?? '')
      .split('\n')
      .filter(line => line.includes('callers are anonymous'))
    assert.equal(warnings.length, lines, host)
  }
})
