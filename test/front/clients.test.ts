/** Real clients of three kinds against the front: SDK 1.x, SDK 2.x of the 2025 era, SDK 2.x of 2026-07-28. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { startEchoServer } from './echo-server.ts'

const INFO = { name: 'test', version: '1.0.0' }

test('an SDK 1.x client connects, lists, calls, sees progress and ends its session', async t => {
  const server = await startEchoServer(t)
  const client = new Client(INFO)
  t.after(() => client.close())
  const transport = new StreamableHTTPClientTransport(new URL(server.url))
  await client.connect(transport)
  assert.equal(transport.protocolVersion, '2025-11-25')
  assert.deepEqual(client.getServerVersion(), { name: 'echo', version: '1.0.0' })
  assert.equal(client.getInstructions(), 'profile hierarchical')
  const session = transport.sessionId
  assert.ok(session)
  await client.ping()
  assert.equal((await client.listTools()).tools.length, 4)
  const answer = await client.callTool({ name: 'echo', arguments: { text: 'héllo' } })
  assert.deepEqual(answer.content, [{ type: 'text', text: '{"text":"héllo"}' }])
  const seen: number[] = []
  await client.callTool({ name: 'progress' }, undefined, {
    onprogress: ({ progress }) => seen.push(progress),
  })
  assert.deepEqual(seen, [1])
  assert.ok(server.seen.every(request => request.caller.client !== undefined))
  await assert.rejects(client.readResource({ uri: 'file:///x' }), { code: -32002 })
  await transport.terminateSession()
})

test('an SDK 2.x client of the 2025 era connects, lists and calls', async t => {
  const server = await startEchoServer(t)
  const client = new ModernClient(INFO)
  t.after(() => client.close())
  await client.connect(new ModernTransport(new URL(server.url)))
  assert.equal(client.getNegotiatedProtocolVersion(), '2025-11-25')
  assert.equal((await client.listTools()).tools.length, 4)
  const answer = await client.callTool({ name: 'echo', arguments: { text: 'x' } })
  assert.deepEqual(answer.content, [{ type: 'text', text: '{"text":"x"}' }])
})

for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
  test(`an SDK 2.x client with negotiation ${JSON.stringify(mode)} speaks 2026-07-28 without a session`, async t => {
    const server = await startEchoServer(t)
    const client = new ModernClient(INFO, { versionNegotiation: { mode } })
    t.after(() => client.close())
    await client.connect(new ModernTransport(new URL(server.url)))
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
    assert.equal(client.getInstructions(), 'profile hierarchical')
    assert.equal((await client.listTools()).tools.length, 4)
    const answer = await client.callTool({ name: 'echo', arguments: { text: 'naïve ☕' } })
    assert.deepEqual(answer.content, [{ type: 'text', text: '{"text":"naïve ☕"}' }])
    const seen: number[] = []
    await client.callTool({ name: 'progress' }, { onprogress: ({ progress }) => seen.push(progress) })
    assert.deepEqual(seen, [1])
    assert.ok(server.seen.every(request => request.caller.client === undefined))
    const params = server.seen.find(request => request.params.name === 'echo')?.params
    assert.deepEqual(params, { name: 'echo', arguments: { text: 'naïve ☕' } })
    await assert.rejects(client.readResource({ uri: 'file:///ünknown' }), { code: -32602 })
    await assert.rejects(client.listPrompts(), /Method not found/)
  })
}

test('a 2026-07-28 client repeats an argument in a header if the schema of the tool asks for it', async t => {
  const server = await startEchoServer(t)
  const client = new ModernClient(INFO, { versionNegotiation: { mode: 'auto' } })
  t.after(() => client.close())
  await client.connect(new ModernTransport(new URL(server.url)))
  await client.listTools()
  const answer = await client.callTool({ name: 'regional', arguments: { region: 'Kärnten' } })
  assert.deepEqual(answer.content, [{ type: 'text', text: '{"region":"Kärnten"}' }])
})
