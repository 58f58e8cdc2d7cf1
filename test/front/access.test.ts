/** Who may ask, from where, and what is told besides MCP: Host and Origin, CORS, health, status, a taken port. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startEchoServer } from './echo-server.ts'
import { legacy, post } from './post.ts'

test('names that a web page could have rebound are refused, in Host and in Origin', async t => {
  const { url, origin } = await startEchoServer(t, { allowedHosts: ['tools.example'] })
  const port = new URL(origin).port
  for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '[::1]:1', 'tools.example']) {
    assert.equal((await rawGet(origin, '/mcp', { host })).status, 405, host)
  }
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    'evil@localhost',
    '10.0.0.1',
  ]) {
    const { status, body } = await rawGet(origin, '/mcp', { host })
    assert.equal(status, 403, host)
    assert.match(body, /is not allowed; allowed are localhost/)
  }
  assert.equal((await rawGet(origin, '/metrics', { host: 'evil.example' })).status, 403)
  for (const from of [
    'https://evil.example',
    'null',
    'file://',
    'http://localhost.evil.example',
    'http://10.0.0.1',
  ]) {
    assert.equal((await post(url, legacy('ping'), { origin: from })).status, 403, from)
  }
  for (const from of ['http://localhost:6274', 'http://127.0.0.1', 'https://tools.example']) {
    const answer = await post(url, legacy('ping'), { origin: from })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('access-control-allow-origin'), from)
  }
})

test('a server on all addresses is asked by address, and still not from a page at a foreign address', async t => {
  const { url, origin } = await startEchoServer(t, { host: '0.0.0.0' })
  assert.equal((await rawGet(origin, '/mcp', { host: '10.1.2.3:8080' })).status, 405)
  assert.equal((await rawGet(origin, '/mcp', { host: 'evil.example' })).status, 403)
  assert.equal((await post(url, legacy('ping'), { origin: 'http://10.1.2.3' })).status, 403)
})

test('a browser on this machine may ask first, the headers of the protocol included', async t => {
  const { url } = await startEchoServer(t)
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://localhost:6274',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-session-id,mcp-param-region,x-evil',
    },
  })
  assert.equal(answer.status, 204)
  const allowed = answer.headers.get('access-control-allow-headers') ?? ''
  assert.match(allowed, /mcp-session-id/)
  assert.match(allowed, /mcp-param-region/)
  assert.doesNotMatch(allowed, /x-evil/)
  assert.equal(answer.headers.get('access-control-allow-methods'), 'POST, GET, DELETE, OPTIONS')
})

test('health says the process lives, readiness what is missing, status is for this machine', async t => {
  const readiness = { ready: false, reason: 'starting' }
  const { origin } = await startEchoServer(t, { ready: () => readiness, debugStatus: () => ({ servers: 3 }) })
  assert.equal((await fetch(`${origin}/healthz`)).status, 200)
  const notYet = await fetch(`${origin}/readyz`)
  assert.equal(notYet.status, 503)
  assert.deepEqual(await notYet.json(), readiness)
  readiness.ready = true
  assert.equal((await fetch(`${origin}/readyz`)).status, 200)
  assert.deepEqual(await (await fetch(`${origin}/debug/status`)).json(), { servers: 3 })
  assert.match(await (await fetch(`${origin}/metrics`)).text(), /portolan_up 1/)
})

test('the error for a port in use names the port and the option that changes it', async t => {
  const { origin } = await startEchoServer(t)
  const port = Number(new URL(origin).port)
  await assert.rejects(startEchoServer(t, { port }), {
    name: 'Fault',
    code: 'unavailable',
    message: `Port ${port} on 127.0.0.1 is already in use; choose another with --port, or stop what uses it.`,
  })
})

/** A GET with headers that fetch would not send. */
async function rawGet(origin: string, path: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(origin)
  const socket = connect(Number(port), hostname)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}connection: close\r\n\r\n`)
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  await once(socket, 'close')
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), body }
}
