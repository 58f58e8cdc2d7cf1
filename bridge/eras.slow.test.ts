/** A bridge between clients and children of both eras: every kind of question for every combination, with the clients of the SDKs. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../core/json.ts'
import { errorOf, legacy, modern, modernHeaders, post, streamed } from '../test/front/post.ts'
import { legacyClient, modernClient } from '../test/support/answering-clients.ts'
import { startTestBridge } from '../test/support/bridge.ts'
import { createLeapClock } from '../test/support/leap-clock.ts'
import { until } from '../test/support/until.ts'
import { ANSWERS, askingCommand, CAN_ALL, type Kind, NOTE_URI } from '../test/upstreams/asking/questions.ts'
import { childrenOf, textOf } from '../test/upstreams/rude/rude.ts'
import type { BridgeOptions } from './bridge.ts'

type Child = Parameters<typeof askingCommand>[0]

function start(t: TestContext, child: Child, sessions: BridgeOptions['sessions']) {
  return startTestBridge(t, { sessions, command: { ...askingCommand(child), startTimeoutMs: 20_000 } })
}

const CLIENTS = { legacy: legacyClient, modern: modernClient }
const KINDS = Object.keys(ANSWERS) as Kind[]

for (const [client, child, sessions] of [
  ['legacy', 'legacy', 'perClient'],
  ['legacy', 'modern', 'perClient'],
  ['modern', 'legacy', 'perClient'],
  ['modern', 'modern', 'perClient'],
  ['modern', 'modern', 'shared'],
  ['modern', 'dual', 'shared'],
] as const)
  test(`a ${client} client answers every question of a ${child} child, ${sessions}`, async t => {
    const { url } = await start(t, child, sessions)
    const { call, asked } = await CLIENTS[client](t, url)
    for (const kind of KINDS)
      assert.deepEqual(JSON.parse(await call('ask', { kinds: kind })), { [kind]: ANSWERS[kind] }, kind)
    assert.equal(asked.length, KINDS.length)
    const all = JSON.parse(await call('ask', { kinds: KINDS.join(' ') }))
    assert.deepEqual(all, ANSWERS)
  })

test('a question of a shared legacy child is refused with the reason', async t => {
  const { url } = await start(t, 'legacy', 'shared')
  for (const connect of [legacyClient, modernClient]) {
    const { call, asked } = await connect(t, url)
    assert.deepEqual(JSON.parse(await call('declared')), {})
    const { roots } = JSON.parse(await call('ask', { kinds: 'roots' }))
    assert.match(roots.failed, /roots/)
    assert.deepEqual(asked, [])
  }
})

test('a client never gets a question of a kind that it did not declare', async t => {
  const separate = await start(t, 'legacy', 'perClient')
  for (const connect of [legacyClient, modernClient]) {
    const { call, asked } = await connect(t, separate.url, { roots: {} })
    assert.deepEqual(JSON.parse(await call('declared')), { roots: {} })
    const answer = JSON.parse(await call('ask', { kinds: 'form roots' }))
    assert.match(answer.form.failed, /elicitation/)
    assert.deepEqual(answer.roots, ANSWERS.roots)
    assert.deepEqual(asked, ['roots/list'])
  }
  const { url } = await start(t, 'modern', 'shared')
  const { call } = await modernClient(t, url, { roots: {} })
  await assert.rejects(call('ask', { kinds: 'form' }), { code: -32021 })
  const { call: callLegacy } = await legacyClient(t, url)
  await assert.rejects(callLegacy('ask', { kinds: 'form' }), { code: -32021 })
})

test('if a child dies while its question waits for an answer, the call of a legacy client fails at once', async t => {
  const { url } = await start(t, 'legacy', 'perClient')
  const { client, call } = await legacyClient(t, url)
  const pid = Number(await call('pid'))
  client.setRequestHandler(ElicitRequestSchema, () => {
    process.kill(pid, 'SIGKILL')
    return new Promise<never>(() => {})
  })
  await assert.rejects(call('ask', { kinds: 'form' }), /ended by SIGKILL/)
})

/** Calls `ask` as a modern client, without an SDK. */
async function askModern(url: string, params: JsonObject = {}) {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': CAN_ALL }
  const call = modern('tools/call', { name: 'ask', arguments: { kinds: 'form' }, ...params }, meta)
  return post(url, call, modernHeaders('tools/call', 'ask'))
}

test('a modern client that answers a question of a child that has died gets an error that says so', async t => {
  const mark = `mark-${Math.random()}`
  const command = { ...askingCommand('legacy', mark), startTimeoutMs: 20_000 }
  const { url } = await startTestBridge(t, { sessions: 'perClient', command })
  const children = () => childrenOf(process.pid, mark)
  const warm = children()
  const { requestState, inputRequests } = (await askModern(url)).json.result as JsonObject
  const [key = ''] = Object.keys(inputRequests as JsonObject)
  const [own = assert.fail('no child was started')] = children().filter(pid => !warm.includes(pid))
  process.kill(own, 'SIGKILL')
  await until(() => !children().includes(own))
  const failed = await askModern(url, { requestState, inputResponses: { [key]: ANSWERS.form } })
  assert.match(String(errorOf(failed).message), /ended by SIGKILL.*check before you repeat it/)
})

test('the drain does not wait for calls whose question has no answer, and ends their child', async t => {
  const mark = `mark-${Math.random()}`
  const command = { ...askingCommand('legacy', mark), startTimeoutMs: 20_000 }
  const bridge = await startTestBridge(t, { sessions: 'perClient', command })
  const { requestState } = (await askModern(bridge.url)).json.result as JsonObject
  assert.equal(typeof requestState, 'string')
  const began = performance.now()
  await bridge.close(30_000)
  assert.ok(performance.now() - began < 10_000)
  assert.deepEqual(childrenOf(process.pid, mark), [])
})

for (const [client, child, sessions] of [
  ['legacy', 'legacy', 'perClient'],
  ['legacy', 'modern', 'perClient'],
  ['modern', 'legacy', 'shared'],
  ['modern', 'modern', 'shared'],
] as const)
  test(`a ${client} client is notified when a resource or a list of a ${child} child, ${sessions}, changes`, async t => {
    const { url } = await start(t, child, sessions)
    const { call, heard, client: sdk } = await CLIENTS[client](t, url)
    if ('listen' in sdk) await sdk.listen({ toolsListChanged: true, resourceSubscriptions: [NOTE_URI] })
    else await sdk.subscribeResource({ uri: NOTE_URI })
    await call('touch')
    await call('grow')
    const methods = () => heard.map(({ method }) => method).sort()
    await until(() => heard.length === 2)
    assert.deepEqual(methods(), ['notifications/resources/updated', 'notifications/tools/list_changed'])
    assert.equal(heard.find(({ params }) => params?.uri)?.params?.uri, NOTE_URI)
  })

for (const child of ['legacy', 'modern'] as const)
  test(`a client of a ${child} child gets log messages of the level that it requested`, async t => {
    const { url } = await start(t, child, 'perClient')
    const { call, heard, client } = await legacyClient(t, url, {})
    await client.setLoggingLevel('error')
    await call('log')
    await client.setLoggingLevel('debug')
    await call('log')
    assert.deepEqual(
      heard.map(({ params }) => params?.data),
      ['large', 'small', 'large'],
    )
    const meta = { 'io.modelcontextprotocol/logLevel': 'warning' }
    const logging = modern('tools/call', { name: 'log', arguments: {} }, meta)
    const { text } = await post(url, logging, modernHeaders('tools/call', 'log'))
    const logged = streamed(text).flatMap(({ params }) => (params as JsonObject)?.data ?? [])
    assert.deepEqual(logged, ['large'])
  })

test('when a client announces that its roots changed, its own child requests them', async t => {
  const { url } = await start(t, 'legacy', 'perClient')
  const { call, client, asked, heard } = await legacyClient(t, url)
  await call('pid')
  await client.sendRootsListChanged()
  await until(() => heard.length === 1)
  assert.deepEqual(asked, ['roots/list'])
})

test('modern calls without a session use a modern child that was started in advance and ends when calls stop', async t => {
  const mark = `mark-${Math.random()}`
  const clock = createLeapClock()
  const command = { ...askingCommand('dual', mark), startTimeoutMs: 20_000 }
  const { url, metricsPort } = await startTestBridge(t, {
    sessions: 'perClient',
    command,
    clock,
    metricsPort: 0,
  })
  const children = () => childrenOf(process.pid, mark)
  const counted = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    return Number(/^portolan_bridge_processes (\d+)$/m.exec(text)?.[1])
  }
  const [warm] = children()
  const call = async () => {
    const { json } = await post(
      url,
      modern('tools/call', { name: 'pid' }),
      modernHeaders('tools/call', 'pid'),
    )
    return Number(textOf({ result: json.result as JsonObject }))
  }
  const used = [await call(), await call()]
  const spares = () => children().filter(pid => pid !== warm && !used.includes(pid))
  await until(() => spares().length === 2)
  const waiting = spares()
  used.push(await call())
  assert.ok(waiting.includes(used.at(-1) ?? 0))
  await until(() => spares().length === 2)
  assert.equal(await counted(), 3)
  clock.advance(60_000)
  await until(() => children().length === 1)
  assert.deepEqual(children(), [warm])
  assert.equal(await counted(), 1)
})

test('requests that a shared child cannot serve are refused with an error message', async t => {
  const { url } = await start(t, 'legacy', 'shared')
  for (const [method, words] of [
    ['logging/setLevel', /no log messages are sent to clients/],
    ['tasks/get', /this server is shared/],
    ['resources/subscribe', /needs a session/],
  ] as const)
    assert.match(String(errorOf(await post(url, legacy(method, { uri: NOTE_URI }))).message), words)
})

test("arguments reach a child unchanged, and the child's own revision is reported", async t => {
  const { url } = await startTestBridge(t)
  const args = '{"big": 12345678901234567890123, "small":1e-400}'
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"line","arguments":${args}}}`
  const { result } = (await post(url, body)).json
  assert.ok(textOf({ result: result as JsonObject }).includes(`"arguments":${args}`))
  const { json } = await post(url, modern('server/discover'), modernHeaders('server/discover'))
  const { _meta: meta } = json.result as { _meta: JsonObject }
  assert.equal(meta['portolan.dev/protocol'], '2025-11-25')
})
