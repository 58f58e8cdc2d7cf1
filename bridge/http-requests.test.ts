/** Which HTTP requests a bridge accepts and refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_BODY_BYTES, MAX_HELD_BYTES } from '../core/mcp/server/bodies.ts'
import { legacy, post } from '../test/front/post.ts'
import { dial, MCP_LINES, requestText } from '../test/manners/raw.ts'
import { startTestBridge } from '../test/support/bridge.ts'

test('a body over the limit, an Origin header, an unknown path and an unknown method are refused; 3 MB are accepted', async t => {
  const { url, origin } = await startTestBridge(t)
  assert.equal((await post(url, legacy('ping'), { origin: 'http://localhost' })).status, 403)
  assert.equal((await fetch(`${origin}/metrics`)).status, 404)
  assert.equal((await fetch(url, { method: 'PUT', body: 'x' })).status, 405)
  assert.equal((await post(url, 'x'.repeat(MAX_BODY_BYTES + 1))).status, 413)
  const large = await post(
    url,
    legacy('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(3_000_000) } }),
  )
  assert.equal(large.text.length > 3_000_000, true)
})

test('the total size of large bodies is limited, also while they are incomplete; a small body is always accepted', async t => {
  const { url, origin } = await startTestBridge(t)
  const lines = [...MCP_LINES, `content-length: ${MAX_BODY_BYTES}`]
  const body = 'x'.repeat(MAX_BODY_BYTES - 1)
  let status = 400
  for (let held = 0; status !== 503; held++) {
    assert.equal(status, 400)
    assert.ok(held < 10 * (MAX_HELD_BYTES / MAX_BODY_BYTES), 'no body was refused')
    const socket = dial(origin).on('error', () => {})
    t.after(() => socket.destroy())
    socket.write(`${requestText('/mcp', { lines })}${body}`)
    while (socket.writableLength > 0) assert.equal((await post(url, legacy('ping'))).status, 200)
    status = (await post(url, body)).status
  }
  assert.equal((await post(url, legacy('ping'))).status, 200)
})
