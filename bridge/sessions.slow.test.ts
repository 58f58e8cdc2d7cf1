/** A bridge that gives each session its own child, and keeps a warm child for the next session. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ListRootsRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { systemClock } from '../core/async.ts'
import type { JsonObject } from '../core/json.ts'
import { connectRemote } from '../core/mcp/client/connect.ts'
import { DISCOVERY } from '../core/mcp/upstream.ts'
import { modern, modernHeaders, post } from '../test/front/post.ts'
import { startTestBridge } from '../test/support/bridge.ts'
import { callOf } from '../test/support/call.ts'
import { createLeapClock } from '../test/support/leap-clock.ts'
import { IDLE_MS, openSession, startSessionBridge, type TestSession } from '../test/support/session-bridge.ts'
import { until } from '../test/support/until.ts'
import { rudeCommand, textOf } from '../test/upstreams/rude/rude.ts'
import { MAX_FAILURES } from './children.ts'

const { signal } = new AbortController()

test('each session has one child, whose state other sessions do not see', async t => {
  const bridge = await startSessionBridge(t)
  const [one, two] = await Promise.all([openSession(bridge), openSession(bridge)])
  assert.notEqual(one.id, two.id)
  const [first, same] = await Promise.all([one.call('pid'), one.call('pid')])
  assert.equal(same, first)
  await one.call('change', { name: 'mine' })
  assert.notEqual(await two.call('pid'), first)
  assert.equal(await one.call('pid'), first)
  const names = async (session: TestSession) => {
    const { tools } = (await session.post('tools/list')).json.result as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  }
  assert.ok((await names(one)).includes('mine'))
  assert.ok(!(await names(two)).includes('mine'))
})

test('a session gets the warm child with its first call, and another is started; reading lists starts none', async t => {
  const bridge = await startSessionBridge(t)
  const [warm] = bridge.children()
  for (let round = 0; round < 5; round++) await (await openSession(bridge)).post('tools/list')
  assert.deepEqual(bridge.children(), [warm])
  const session = await openSession(bridge)
  assert.equal(await session.call('pid'), String(warm))
  await until(() => bridge.children().length === 2)
})

test('discovery, which declares all capabilities, has its own child while it reads lists', async t => {
  const bridge = await startSessionBridge(t)
  const spec = {
    url: bridge.url,
    transport: 'streamable-http',
    sessions: 'perClient',
    startTimeoutMs: 10_000,
  } as const
  const upstream = connectRemote(spec, { clock: systemClock })
  await upstream.connect(signal)
  assert.equal(bridge.children().length, 1)
  const call = { method: 'tools/list', ...DISCOVERY, maxBytes: 1_000_000 }
  assert.ok((await upstream.request(callOf(call), signal)).result)
  assert.equal(bridge.children().length, 2)
  await upstream.close()
  await until(() => bridge.children().length === 1)
})

test('DELETE ends a session and its child', async t => {
  const bridge = await startSessionBridge(t)
  const session = await openSession(bridge)
  const pid = Number(await session.call('pid'))
  const remove = () => fetch(bridge.url, { method: 'DELETE', headers: { 'mcp-session-id': session.id } })
  assert.equal((await remove()).status, 204)
  await until(() => !bridge.children().includes(pid))
  assert.equal((await session.post('tools/list')).status, 404)
  assert.equal((await remove()).status, 404)
})

test('an idle session ends; one with a call in flight does not', async t => {
  const clock = createLeapClock()
  const bridge = await startSessionBridge(t, { clock })
  const [busy, idle] = await Promise.all([openSession(bridge), openSession(bridge)])
  const idlePid = Number(await idle.call('pid'))
  const busyPid = Number(await busy.call('pid'))
  const hanging = busy.call('hang').catch(error => error.message)
  clock.advance(IDLE_MS / 2)
  assert.equal(await idle.call('pid'), String(idlePid))
  clock.advance(IDLE_MS)
  await until(() => !bridge.children().includes(idlePid))
  assert.equal((await idle.post('ping')).status, 404)
  assert.ok(bridge.children().includes(busyPid))
  await bridge.close(0)
  assert.match(await hanging, /shutting down|stopped/)
})

test('a session ends when its child dies, because the state is lost', async t => {
  const bridge = await startSessionBridge(t)
  const session = await openSession(bridge)
  await assert.rejects(session.call('die'), /ended with exit code 7.*check before you repeat it/)
  assert.equal((await session.post('tools/list')).status, 404)
  await bridge.untilReadiness(200)
  assert.ok(Number(await (await openSession(bridge)).call('pid')))
})

test('a caller without a session gets a child for one call', async t => {
  const bridge = await startSessionBridge(t)
  const call = modern('tools/call', { name: 'pid', arguments: {} })
  const pids = []
  for (let round = 0; round < 2; round++) {
    const { json } = await post(bridge.url, call, modernHeaders('tools/call', 'pid'))
    pids.push(textOf({ result: json.result as JsonObject }))
  }
  assert.notEqual(pids[0], pids[1])
  await until(() => bridge.children().length === 1)
})

test('an SDK client gets notifications only from its own child', async t => {
  const bridge = await startSessionBridge(t)
  const connect = async () => {
    const client = new Client({ name: 'test', version: '1' })
    t.after(() => client.close())
    let heard = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      heard++
      resolve()
    })
    await client.connect(new StreamableHTTPClientTransport(new URL(bridge.url)))
    await client.callTool({ name: 'pid' })
    return { client, heard: () => heard, promise }
  }
  const [one, two] = [await connect(), await connect()]
  await one.client.callTool({ name: 'change', arguments: { name: 'mine' } })
  await one.promise
  await two.client.callTool({ name: 'change', arguments: { name: 'mine' } })
  await two.promise
  assert.deepEqual([one.heard(), two.heard()], [1, 1])
})

test('a child asks its own client, during a call and between calls, and gets the answer', async t => {
  const bridge = await startSessionBridge(t)
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { roots: {}, elicitation: {} } })
  t.after(() => client.close())
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///mine' }] }))
  await client.connect(new StreamableHTTPClientTransport(new URL(bridge.url)))
  const heard = (id: string) =>
    until(`an answer to ${id}`, async () => {
      const { content } = await client.callTool({ name: 'seen' })
      const seen: JsonObject[] = JSON.parse(textOf({ result: { content } as JsonObject }))
      return seen.find(message => message.id === id)
    })
  const roots = { roots: [{ uri: 'file:///mine' }] }
  await client.callTool({ name: 'ask', arguments: { method: 'roots/list' } })
  assert.deepEqual((await heard('ask-roots/list')).result, roots)
  await client.callTool({ name: 'say_later', arguments: { method: 'roots/list', id: 'later' } })
  assert.deepEqual((await heard('later')).result, roots)
  await client.callTool({ name: 'ask', arguments: { method: 'sampling/createMessage' } })
  assert.deepEqual(((await heard('ask-sampling/createMessage')).error as JsonObject).code, -32601)
})

test('the question of a child whose client has no stream fails', async t => {
  const bridge = await startSessionBridge(t)
  const session = await openSession(bridge)
  await session.call('say_later', { method: 'roots/list', id: 'later' })
  const answer = await until('an answer to the question', async () => {
    const seen: JsonObject[] = JSON.parse(await session.call('seen'))
    return seen.find(({ id }) => id === 'later')
  })
  assert.equal((answer.error as JsonObject).code, -32601)
})

test('a notification of an unknown method reaches the client of its session', async t => {
  const bridge = await startSessionBridge(t)
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  const heard = new Promise(resolve => {
    client.fallbackNotificationHandler = async notification => resolve(notification.method)
  })
  await client.connect(new StreamableHTTPClientTransport(new URL(bridge.url)))
  await client.callTool({ name: 'say_later', arguments: { method: 'notifications/custom' } })
  assert.equal(await heard, 'notifications/custom')
})

test('closing the bridge ends every child', async t => {
  const bridge = await startSessionBridge(t)
  await (await openSession(bridge)).call('pid')
  await bridge.close(0)
  await until(() => bridge.children().length === 0)
})

test('a stream requires a session', async t => {
  const { url } = await startSessionBridge(t)
  const accept = { accept: 'text/event-stream' }
  assert.equal((await fetch(url, { headers: accept })).status, 405)
  assert.equal((await fetch(url, { headers: { ...accept, 'mcp-session-id': 'unknown' } })).status, 404)
})

test('after three failed starts of the warm child the bridge gives up', async t => {
  const clock = createLeapClock()
  const bridge = await startSessionBridge(t, { mode: 'refuse-initialize', impatient: true, clock })
  const hurry = setInterval(() => clock.advance(1_000), 50)
  t.after(() => clearInterval(hurry))
  const { reason, message } = await bridge.gaveUp
  clearInterval(hurry)
  assert.equal(reason, 'HandshakeFailed')
  assert.match(message, /GITHUB_TOKEN is not set/)
})

test('a warm child that no longer starts does not end any session', { timeout: 20_000 }, async t => {
  const clock = createLeapClock()
  const folder = mkdtempSync(join(tmpdir(), 'portolan-places-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { command, args, env } = rudeCommand('polite')
  // At most two children can start: each has to create one of two folders.
  const script =
    'for place in 1 2; do mkdir "$0/$place" && exec "$@"; done 2>/dev/null; echo >> "$0/failed"; exit 1'
  const places = { command: '/bin/sh', args: ['-c', script, folder, command, ...args], env }
  const bridge = await startTestBridge(t, {
    sessions: 'perClient',
    idleAfterMs: IDLE_MS,
    command: { ...places, startTimeoutMs: IDLE_MS },
    clock,
  })
  const [one, two] = [await openSession(bridge), await openSession(bridge)]
  const pids = [await one.call('pid'), await two.call('pid')]
  let gaveUp = false
  void bridge.gaveUp.then(() => {
    gaveUp = true
  })
  const failed = join(folder, 'failed')
  const hurry = setInterval(() => clock.advance(10_000), 20)
  t.after(() => clearInterval(hurry))
  const failures = () => (existsSync(failed) ? readFileSync(failed).length : 0)
  await until(() => failures() > MAX_FAILURES + 1)
  assert.equal(gaveUp, false)
  assert.deepEqual([await one.call('pid'), await two.call('pid')], pids)
  const end = (id: string) => fetch(bridge.url, { method: 'DELETE', headers: { 'mcp-session-id': id } })
  await Promise.all([end(one.id), end(two.id)])
  assert.equal((await bridge.gaveUp).reason, 'CrashLooping')
})
