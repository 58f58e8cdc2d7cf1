/** A bridge whose callers share one child: real children, real HTTP, clients of both eras. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { systemClock } from '../core/async.ts'
import type { JsonObject } from '../core/json.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { CLOSING_HEADER } from '../core/mcp/protocol/closing-header.ts'
import { HEARTBEAT_MS } from '../core/mcp/server/heartbeats.ts'
import type { UpstreamEvent } from '../core/mcp/upstream.ts'
import { errorOf, legacy, post, streamed } from '../test/front/post.ts'
import { startTestBridge, type TestBridge } from '../test/support/bridge.ts'
import { callOf } from '../test/support/call.ts'
import { createLeapClock } from '../test/support/leap-clock.ts'
import { callTool } from '../test/support/mcp.ts'
import { untilGone } from '../test/support/processes-left.ts'
import { until } from '../test/support/until.ts'
import { rudeCommand, textOf, toolCall } from '../test/upstreams/rude/rude.ts'
import { MAX_STREAMS } from './bridge.ts'

const INFO = { name: 'test', version: '1' }
const { signal } = new AbortController()
const LONG_MS = 3_600_000 // Longer than the tests advance the clock.

function upstreamOf(t: TestContext, { url }: TestBridge) {
  const spec = {
    url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 10_000,
  } as const
  const upstream = connectRemote(spec, { clock: systemClock, random: () => 0 })
  t.after(() => upstream.close())
  return upstream
}

test('name, instructions, lists, answers and errors of the server are passed on unchanged', async t => {
  const upstream = upstreamOf(t, await startTestBridge(t, { mode: 'resources' }))
  const info = await upstream.connect(signal)
  assert.deepEqual(info.serverInfo, { name: 'rude', version: '1.0.0' })
  assert.equal(info.instructions, 'mode: resources')
  assert.deepEqual(info.capabilities, {
    tools: {},
    resources: { listChanged: true },
    prompts: { listChanged: true },
  })
  const ask = async (method: string, params: JsonObject = {}) =>
    upstream.request(callOf({ method, params, maxBytes: 1_000_000 }), signal)
  assert.equal(((await ask('resources/list')).result?.resources as JsonObject[])[1]?.extra, true)
  const read = await ask('resources/read', { uri: 'file:///b' })
  assert.deepEqual(read.result?.contents, [{ uri: 'file:///b', text: 'text of file:///b' }])
  assert.deepEqual((await ask('prompts/list')).result?.prompts, [{ name: 'hello' }])
  assert.deepEqual((await ask('completion/complete')).error, { code: -32601, message: 'no such method' })
  const called = await upstream.request(toolCall('arguments', { text: 'ü' }), signal)
  assert.deepEqual(JSON.parse(textOf(called)), { name: 'arguments', arguments: { text: 'ü' } })
})

test('a shared server has no sessions, so that any replica can answer any call', async t => {
  const { url } = await startTestBridge(t)
  const { headers, json } = await post(url, legacy('initialize', { protocolVersion: '2025-11-25' }))
  assert.equal(headers.get('mcp-session-id'), null)
  assert.deepEqual((json.result as JsonObject).capabilities, { tools: { listChanged: true } })
  assert.equal((await post(url, legacy('ping'), { 'mcp-session-id': 'of-before' })).status, 404)
  const code = async (method: string) => errorOf(await post(url, legacy(method))).code
  const methods = ['logging/setLevel', 'resources/subscribe', 'tasks/get']
  assert.deepEqual(await Promise.all(methods.map(code)), [-32601, -32602, -32601])
})

test('an SDK 1.x client calls a tool and gets progress and list_changed', async t => {
  const { url } = await startTestBridge(t)
  const client = new Client(INFO)
  t.after(() => client.close())
  const heard = new Promise(resolve =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
  )
  const transport = new StreamableHTTPClientTransport(new URL(url))
  await client.connect(transport)
  const seen: number[] = []
  await client.callTool({ name: 'progress', arguments: { steps: 3 } }, undefined, {
    onprogress: ({ progress }) => seen.push(progress),
  })
  assert.deepEqual(seen, [1, 2, 3])
  await client.callTool({ name: 'change', arguments: { name: 'added' } })
  await heard
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'added'))
})

test('an SDK 2.x client of 2026-07-28 calls a tool and gets progress and list_changed', async t => {
  const { url } = await startTestBridge(t)
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  t.after(() => client.close())
  const heard = new Promise<void>(resolve =>
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
  )
  await client.connect(new ModernTransport(new URL(url)))
  assert.equal(client.getInstructions(), 'mode: polite')
  const subscription = await client.listen({ toolsListChanged: true, promptsListChanged: true })
  assert.deepEqual(subscription.honoredFilter, { toolsListChanged: true })
  const seen: number[] = []
  await client.callTool(
    { name: 'progress', arguments: { steps: 2 } },
    { onprogress: ({ progress }) => seen.push(progress) },
  )
  assert.deepEqual(seen, [1, 2])
  await client.callTool({ name: 'change', arguments: { name: 'added' } })
  await heard
  await subscription.close()
})

test("the operator's upstream client gets list_changed", async t => {
  const upstream = upstreamOf(t, await startTestBridge(t))
  const { promise, resolve } = Promise.withResolvers<UpstreamEvent>()
  upstream.onEvent(event => event.kind === 'listChanged' && resolve(event))
  await upstream.connect(signal)
  await upstream.request(toolCall('change', { name: 'added' }), signal)
  assert.deepEqual(await promise, { kind: 'listChanged', list: 'tools' })
})

test('a silent stream gets heartbeats, and the number of streams is bounded', async t => {
  const clock = createLeapClock()
  const { url } = await startTestBridge(t, { clock })
  const gone = new AbortController()
  const open = () => fetch(url, { headers: { accept: 'text/event-stream' }, signal: gone.signal })
  const first = await open()
  const reader = first.body?.getReader()
  assert.equal(Buffer.from((await reader?.read())?.value ?? '').toString(), ':\n\n')
  clock.advance(HEARTBEAT_MS)
  assert.equal(Buffer.from((await reader?.read())?.value ?? '').toString(), ':\n\n')
  const more = await Promise.all(Array.from({ length: MAX_STREAMS - 1 }, open))
  assert.ok(more.every(({ status }) => status === 200))
  const refused = await open()
  assert.equal(refused.status, 503)
  assert.equal((await fetch(url, { headers: { accept: 'application/json' } })).status, 406)
  gone.abort()
})

test('a server that never changes its lists has no stream to listen on', async t => {
  const { url } = await startTestBridge(t, { mode: 'undeclared-tools' })
  assert.equal((await fetch(url, { headers: { accept: 'text/event-stream' } })).status, 405)
})

test('calls in flight fail at once when the child dies; the next call gets a new child', async t => {
  const bridge = await startTestBridge(t)
  const before = (await callTool(bridge.url, 'pid', {})).content[0]?.text
  const hanging = post(bridge.url, legacy('tools/call', { name: 'hang' }))
  const dying = post(
    bridge.url,
    legacy('tools/call', { name: 'die', arguments: { last: 'error: disk full' } }),
  )
  for (const answer of await Promise.all([hanging, dying])) {
    assert.equal(answer.status, 200)
    const { code, message, data } = errorOf(answer)
    assert.equal(code, -32000)
    assert.match(
      String(message),
      /^The server ended with exit code 7: error: disk full\. This request got no answer; it may have taken effect: check before you repeat it$/,
    )
    assert.deepEqual(data, { reason: 'upstream_died', retryable: false })
  }
  await bridge.untilReadiness(200)
  assert.notEqual((await callTool(bridge.url, 'pid', {})).content[0]?.text, before)
})

test('the bridge is ready only while a child is up', async t => {
  const starting = await startTestBridge(t, { mode: 'hang-initialize', impatient: true })
  assert.equal(await starting.readiness(), 503)
  const early = await post(starting.url, legacy('initialize', { protocolVersion: '2025-11-25' }))
  assert.deepEqual([early.status, early.headers.get('retry-after')], [503, '1'])
  assert.equal((await fetch(`${starting.origin}/healthz`)).status, 200)
  const clock = createLeapClock()
  const bridge = await startTestBridge(t, { clock })
  await post(bridge.url, legacy('tools/call', { name: 'die' }))
  await bridge.untilReadiness(200)
  await post(bridge.url, legacy('tools/call', { name: 'die' }))
  await bridge.untilReadiness(503)
  const held = errorOf(await post(bridge.url, legacy('tools/call', { name: 'pid' })))
  assert.match(String(held.message), /ends again and again.*started again in 0\.[0-5] s/)
  clock.advance(500)
  await bridge.untilReadiness(200)
})

test('after three consecutive failures the bridge gives up with the reason', async t => {
  const clock = createLeapClock()
  const command = { ...rudeCommand('exit-1'), startTimeoutMs: LONG_MS }
  const { gaveUp } = await startTestBridge(t, { command, impatient: true, clock })
  const hurry = setInterval(() => clock.advance(1_000), 20)
  t.after(() => clearInterval(hurry))
  const { reason, message, stderr } = await gaveUp
  assert.equal(reason, 'CrashLooping')
  assert.match(message, /ended with exit code 1 before it was ready: cannot open the database/)
  assert.deepEqual(stderr, ['cannot open the database: no such file'])
})

test('the error for a command that does not exist names it', async t => {
  const clock = createLeapClock()
  const command = { command: 'no-such-command', args: [], env: {}, startTimeoutMs: LONG_MS }
  const { gaveUp } = await startTestBridge(t, { command, impatient: true, clock })
  const hurry = setInterval(() => clock.advance(1_000), 20)
  t.after(() => clearInterval(hurry))
  const { reason, message } = await gaveUp
  assert.deepEqual([reason, message], ['CommandNotFound', 'the command no-such-command was not found'])
})

test('a call is cancelled at the child if its caller disconnects', async t => {
  const { url } = await startTestBridge(t)
  const gone = new AbortController()
  const body = JSON.stringify(legacy('tools/call', { name: 'hang' }))
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const call = fetch(url, { method: 'POST', headers, body, signal: gone.signal })
  const progress = legacy('tools/call', { name: 'progress', _meta: { progressToken: 'p' } })
  assert.equal(streamed((await post(url, progress)).text).length, 4)
  gone.abort()
  await assert.rejects(call)
  await until('the child is told of the end', async () => {
    const { content } = await callTool(url, 'seen', {})
    const seen: JsonObject[] = JSON.parse(content[0]?.text ?? '[]')
    return seen.some(({ method }) => method === 'notifications/cancelled')
  })
})

test('requests, except for health checks, need the token; a token that was replaced stays valid for a while', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bearer-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const bearerFile = join(folder, 'token')
  writeFileSync(bearerFile, 'first-token\n')
  const clock = createLeapClock()
  const bridge = await startTestBridge(t, { bearerFile, clock })
  const status = async (authorization?: string) =>
    (await post(bridge.url, legacy('ping'), authorization === undefined ? {} : { authorization })).status
  assert.equal(await status(), 401)
  for (const wrong of [
    'Bearer first-toke',
    'Bearer first-tokem',
    'Basic first-token',
    'first-token',
    'Bearer ',
  ])
    assert.equal(await status(wrong), 401, wrong)
  assert.equal(await status('Bearer first-token'), 200)
  assert.equal(await status('bearer first-token'), 200)
  assert.equal((await fetch(`${bridge.origin}/healthz`)).status, 200)
  for (const method of ['GET', 'DELETE', 'PUT'])
    assert.equal((await fetch(bridge.url, { method })).status, 401, method)
  writeFileSync(bearerFile, 'second-token\n')
  clock.advance(1_000)
  const both = async () => [await status('Bearer first-token'), await status('Bearer second-token')]
  assert.deepEqual(await both(), [200, 200])
  clock.advance(5 * 60_000)
  assert.deepEqual(await both(), [401, 200])
  rmSync(bearerFile)
  clock.advance(1_000)
  assert.equal(await status('Bearer second-token'), 200)
})

test('during the drain, the bridge is not ready, answers requests on open connections, and closes them', async t => {
  const bridge = await startTestBridge(t, { mode: 'polite' })
  const sleeping = post(bridge.url, legacy('tools/call', { name: 'sleep', arguments: { ms: 300 } }))
  const stream = await fetch(bridge.url, { headers: { accept: 'text/event-stream' } })
  await callTool(bridge.url, 'echo', { text: 'x' })
  const closed = bridge.close(10_000)
  assert.equal(await bridge.readiness(), 503)
  const late = await post(bridge.url, legacy('tools/call', { name: 'echo', arguments: { text: 'late' } }))
  for (const { status, headers } of [late, await sleeping])
    assert.deepEqual([status, headers.get('connection')], [200, 'close'])
  assert.match(await stream.text(), /^:\n\n$/)
  await closed
  await assert.rejects(fetch(`${bridge.origin}/healthz`))
})

test('before the bridge closes its connections, it refuses further calls with 503 and the closing header', async t => {
  const bridge = await startTestBridge(t, { mode: 'polite' })
  await callTool(bridge.url, 'echo', { text: 'x' })
  const closed = bridge.close(10_000)
  const call = legacy('tools/call', { name: 'echo', arguments: { text: 'x' } })
  let last = await post(bridge.url, call)
  while (last.status === 200) last = await post(bridge.url, call)
  assert.deepEqual([last.status, last.headers.get(CLOSING_HEADER)], [503, 'true'])
  await closed
})

test('the error for a port in use names it, and no child is left', async t => {
  const { port } = await startTestBridge(t)
  const mark = `mark-${process.pid}-port`
  const command = { ...rudeCommand('polite', 0, mark), startTimeoutMs: LONG_MS }
  await assert.rejects(startTestBridge(t, { port, command }), {
    name: 'Fault',
    code: 'unavailable',
    message: new RegExp(`Cannot listen on .* port ${port}: .*EADDRINUSE`),
  })
  assert.deepEqual(await untilGone(mark), [])
})
