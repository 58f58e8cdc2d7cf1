/** A gateway through the SDK's client: results as they came, and faults that say what happened. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, type Behaviour, flood, raw, startRude, stream } from '../../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../../test/upstreams/http/sdk1.ts'
import { connectSdkClient } from './sdk-client.ts'

const never = new AbortController().signal

test('results keep the fields that the SDK does not know, and closing ends the session', async t => {
  const server = await startRude({
    'tools/call': answer({ content: [{ type: 'hologram', beam: 1 }], extra: { a: 1 } }),
  })
  t.after(server.close)
  const client = await connectSdkClient(server.url, never)
  const result = await client.request('tools/call', { name: 'x' }, never)
  assert.deepEqual(result, { content: [{ type: 'hologram', beam: 1 }], extra: { a: 1 } })
  await client.close()
  assert.ok(server.log.includes('DELETE'))
})

test('a real server answers over a session', async t => {
  const server = await startSdk1('stateful')
  t.after(server.close)
  const client = await connectSdkClient(server.url, never)
  t.after(client.close)
  const result = await client.request('tools/call', { name: 'count' }, never)
  assert.deepEqual(result.content, [{ type: 'text', text: '1' }])
})

const refusal = '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"There is no such tool"}}'
const faults: [string, Behaviour, object][] = [
  [
    'a JSON-RPC error',
    (response, { id }) =>
      raw(200, 'application/json', refusal.replace('1', String(id)))(response, {}, response.req),
    { code: 'upstream_rejected', message: 'There is no such tool' },
  ],
  [
    'a JSON-RPC error under another status',
    raw(404, 'application/json', refusal),
    { code: 'upstream_rejected', message: 'There is no such tool', details: { status: 404 } },
  ],
  ['a page', raw(200, 'text/html', '<h1>Hello</h1>'), { code: 'upstream_protocol' }],
  ['a failure', raw(502, 'text/plain', 'Bad gateway'), { code: 'upstream_protocol', message: /502/ }],
  ['a demand for credentials', raw(401, 'text/plain', ''), { code: 'upstream_auth_required' }],
  [
    'an answer that breaks off',
    stream(response => void response.write(': soon\n\n', () => response.destroy())),
    { code: 'upstream_died' },
  ],
  [
    'an answer without end',
    stream(response => flood(response, `data: ${'x'.repeat(1 << 20)}\n`)),
    { code: 'upstream_too_large' },
  ],
]

for (const [title, behaviour, expected] of faults)
  test(`${title} is reported`, async t => {
    const server = await startRude({ 'tools/call': behaviour })
    t.after(server.close)
    const client = await connectSdkClient(server.url, never)
    t.after(client.close)
    await assert.rejects(client.request('tools/call', { name: 'x' }, never), expected)
  })

test('a closed port is a fault upstream_unreachable', async () => {
  await assert.rejects(connectSdkClient('http://127.0.0.1:1/mcp', never), { code: 'upstream_unreachable' })
})

test('a redirect to another host or port is not followed, but reported', async t => {
  const elsewhere = await startRude({})
  t.after(elsewhere.close)
  const server = await startRude({
    initialize: response => void response.writeHead(307, { location: elsewhere.url }).end(),
  })
  t.after(server.close)
  await assert.rejects(connectSdkClient(server.url, never), {
    code: 'upstream_protocol',
    message: 'The answer of the gateway is not MCP (HTTP 307)',
  })
  assert.deepEqual(elsewhere.log, [])
})
