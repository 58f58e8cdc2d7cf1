/** What one caller, or all together, may use of a router: bodies, and concurrent requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_BODY_BYTES, MAX_HELD_BYTES } from '../../core/mcp/server/bodies.ts'
import { legacy, post } from '../front/post.ts'
import { until } from '../support/until.ts'
import { ask, CLOSE, dial, MCP_LINES, requestText } from './raw.ts'
import { startReplica } from './replica.ts'

const MAX_IN_FLIGHT = 8_192

test('pipelined requests are served only up to the limit of concurrent requests; then others get 503', async t => {
  const replica = await startReplica(t)
  const socket = dial(replica.url)
  socket.on('error', () => {})
  const hold = requestText('/mcp', {
    lines: MCP_LINES,
    body: JSON.stringify(legacy('tools/call', { name: 'hold', arguments: {} })),
  })
  const ping = legacy('ping')
  socket.write(hold.repeat(MAX_IN_FLIGHT + 100))
  await until(() => replica.seen.length >= MAX_IN_FLIGHT)
  const refused = await post(replica.url, ping)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.equal(replica.seen.length, MAX_IN_FLIGHT)
  socket.destroy()
  await until(async () => (await post(replica.url, ping)).status === 200)
})

test('a body over the limit gets 413; while bodies of 16 MiB are held, another large one gets 503', async t => {
  const replica = await startReplica(t)
  const large = (bytes: number, name = 'hold') => {
    const call = JSON.stringify(legacy('tools/call', { name, arguments: { x: '' } }))
    return call.replace('"x":""', `"x":"${'x'.repeat(bytes - call.length)}"`)
  }
  for (const bytes of [MAX_BODY_BYTES + 1, 16 << 20]) {
    const whole = requestText('/mcp', { lines: [...MCP_LINES, CLOSE], body: large(bytes, 'who') })
    assert.equal((await ask(replica.url, whole)).status, 413, `${bytes} bytes`)
  }
  assert.equal(replica.seen.length, 0)
  const stop = new AbortController()
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = large(MAX_BODY_BYTES)
  const room = MAX_HELD_BYTES / MAX_BODY_BYTES
  const holding = Array.from({ length: room }, () =>
    fetch(replica.url, { method: 'POST', headers, body, signal: stop.signal }).catch(() => undefined),
  )
  await until(() => replica.seen.length >= room)
  const refused = await post(replica.url, body)
  assert.equal(refused.status, 503)
  assert.equal((await post(replica.url, legacy('ping'))).status, 200)
  stop.abort()
  await Promise.all(holding)
})
