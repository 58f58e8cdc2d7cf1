/** Every profile over HTTP, with real clients: connect, list, search, call, and notifications of changes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Profile } from '../../core/catalog/router-config.ts'
import { createLog } from '../../core/log.ts'
import { PROFILES } from '../../router/meta/profiles/profiles.ts'
import { type Router, type RouterOptions, startRouter } from '../../router/router.ts'
import { createInProcessSource, type InProcessSource } from '../../router/source/in-process-source.ts'
import { echo, snapshotOf, upstreamOf } from '../meta/fixture.ts'
import { forge, SERVERS } from '../meta/servers.ts'
import { freePort } from '../support/free-port.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { until } from '../support/until.ts'

const INFO = { name: 'test', version: '1.0.0' }
const ALL = Object.keys(PROFILES) as Profile[]
const ISSUE = { repository: 'a/b', title: 'Broken' }

type Started = { router: Router; source: InProcessSource }

async function start(t: TestContext, more: Partial<RouterOptions> = {}): Promise<Started> {
  const source = createInProcessSource()
  source.publish(snapshotOf(SERVERS, { allowedProfiles: ALL }, 1))
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    log: createLog({ level: 'silent' }),
    ...more,
  })
  t.after(() => router.close(0))
  await untilGeneration({ router }, 1)
  return { router, source }
}

async function untilGeneration({ router }: Pick<Started, 'router'>, generation: number): Promise<void> {
  await until(() => router.catalog()?.generation === generation)
}

async function connect(t: TestContext, { url }: Router, profile: Profile) {
  const client = new Client(INFO)
  t.after(() => client.close())
  const notifications: string[] = []
  client.setNotificationHandler(
    ToolListChangedNotificationSchema,
    ({ method }) => void notifications.push(method),
  )
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/${profile}`))
  await client.connect(transport)
  const text = async (name: string, args: object): Promise<string> => {
    const { content } = await client.callTool({ name, arguments: { ...args } })
    return (content as { text: string }[])[0]?.text ?? ''
  }
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name)
  return { client, notifications, text, listed, transport }
}

const CALLED = JSON.stringify({ method: 'tools/call', params: { name: 'create_issue', arguments: ISSUE } })

test('hierarchical: discover, execute', async t => {
  const { router } = await start(t)
  const { text, listed, client } = await connect(t, router, 'hierarchical')
  assert.deepEqual(await listed(), [...PROFILES.hierarchical.tools.keys()])
  assert.match(client.getInstructions() ?? '', /discover_mcp_tools/)
  const [found] = JSON.parse(await text('discover_mcp_tools', { query: 'create issue' })).tools
  assert.equal(await text('execute_mcp_tool', { tool_path: found.tool_path, arguments: ISSUE }), CALLED)
})

test('search: search, look at the schema, execute', async t => {
  const { router } = await start(t)
  const { text, listed, client } = await connect(t, router, 'search')
  assert.deepEqual(await listed(), [...PROFILES.search.tools.keys()])
  assert.match(client.getInstructions() ?? '', /mcp_search_tools/)
  assert.equal(client.getServerCapabilities()?.tools?.listChanged, undefined)
  const { servers } = JSON.parse(await text('mcp_list_servers', {}))
  assert.equal(servers.length, 2)
  const [{ toolName, serverId }] = JSON.parse(
    await text('mcp_search_tools', { query: 'create issue', serverId: servers[0].serverId }),
  ).tools
  assert.equal(
    JSON.parse(await text('mcp_search_tool_regex', { query: 'create_' })).tools[0].toolName,
    toolName,
  )
  const { inputSchema } = JSON.parse(await text('mcp_get_tool_schema', { toolName, serverId }))
  assert.deepEqual(inputSchema.required, ['repository', 'title'])
  assert.equal(await text('mcp_execute_tool', { toolName, serverId, args: ISSUE }), CALLED)
})

test('registry: an activated tool is announced, listed for its own session only, and called by its listed name', async t => {
  const { router } = await start(t)
  const anna = await connect(t, router, 'registry')
  const berta = await connect(t, router, 'registry')
  const own = [...PROFILES.registry.tools.keys()]
  assert.deepEqual(await anna.listed(), own)
  assert.equal(anna.client.getServerCapabilities()?.tools?.listChanged, true)
  const [{ name }] = JSON.parse(await anna.text('discover', { query: 'create issue' })).tools
  assert.equal(await anna.text('execute', { tool: name, args: ISSUE }), CALLED)
  const { active_count, definitions } = JSON.parse(await anna.text('activate', { tools: [name] }))
  assert.equal(active_count, 1)
  assert.deepEqual(anna.notifications, ['notifications/tools/list_changed'])
  assert.deepEqual(await anna.listed(), [...own, 'forge__create_issue'])
  assert.deepEqual(await berta.listed(), own)
  assert.equal(await anna.text(definitions[0].name, ISSUE), CALLED)
  await anna.transport.terminateSession()
})

test('registry: without a session, activate answers the definitions, and the list stays the same', async t => {
  const { router } = await start(t)
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  t.after(() => client.close())
  await client.connect(new ModernTransport(new URL(`${router.url}/registry`)))
  const { content } = await client.callTool({
    name: 'activate',
    arguments: { tools: ['forge:create_issue'] },
  })
  const answer = JSON.parse((content as { text: string }[])[0]?.text ?? '')
  assert.deepEqual([answer.active_count, answer.definitions.length], [0, 1])
  assert.equal((await client.listTools()).tools.length, 3)
})

test('registry: each replica lists the activated tools of a session until the replica that owns it is gone', async t => {
  const replica = async () =>
    (await start(t, { port: await freePort(), address: '127.0.0.1', sessionKey: 'the key of both' })).router
  const [first, second] = [await replica(), await replica()]
  const { text, transport } = await connect(t, first, 'registry')
  await text('activate', { tools: ['forge:create_issue'] })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': transport.sessionId ?? '',
  }
  const list = async (): Promise<number> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const answer = await fetch(`${second.url}/registry`, { method: 'POST', headers, body })
    const { result } = (await answer.json()) as { result: { tools: unknown[] } }
    return result.tools.length
  }
  assert.equal(await list(), 4)
  await first.close(0)
  assert.equal(await list(), 3, 'the owner is gone, and the activated tools with it')
})

test('direct: all tools are listed and called by listed name, and a change is announced before the next answer', async t => {
  const started = await start(t)
  const { client, text, listed, notifications } = await connect(t, started.router, 'direct')
  assert.equal(client.getServerCapabilities()?.tools?.listChanged, true)
  assert.equal((await listed()).length, 7)
  assert.equal(await text('forge__create_issue', ISSUE), CALLED)
  started.source.publish(snapshotOf(SERVERS, { allowedProfiles: ALL }, 2))
  await untilGeneration(started, 2)
  await text('forge__create_issue', ISSUE)
  assert.deepEqual(notifications, [], 'no notification if the new catalog has the same tools')
  started.source.publish(snapshotOf({ forge }, { allowedProfiles: ALL }, 3))
  await untilGeneration(started, 3)
  assert.equal(await text('forge__create_issue', ISSUE), CALLED)
  assert.deepEqual(notifications, ['notifications/tools/list_changed'])
  await text('forge__create_issue', ISSUE)
  assert.equal(notifications.length, 1)
  assert.equal((await listed()).length, 4)
})

test('direct: a listening client of 2026-07-28 is notified at once, and does not delay the shutdown', async t => {
  // Nobody advances the clock: a shutdown that waits for the end of its drain never ends.
  const started = await start(t, { clock: createManualClock(Date.now()) })
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  t.after(() => client.close())
  const notified = Promise.withResolvers<void>()
  client.setNotificationHandler('notifications/tools/list_changed', () => notified.resolve())
  await client.connect(new ModernTransport(new URL(`${started.router.url}/direct`)))
  const subscription = await client.listen({ toolsListChanged: true })
  started.source.publish(snapshotOf({ forge }, { allowedProfiles: ALL }, 2))
  await notified.promise
  assert.equal((await client.listTools()).tools.length, 4)
  await started.router.close(60_000)
  await subscription.close()
})

test('direct: invalid items of a server do not make the official clients refuse the list', async t => {
  const { router, source } = await start(t)
  const sloppy = {
    tools: [{ name: 'a', title: null, inputSchema: { $schema: 'x' }, outputSchema: { type: 'array' } }],
    resources: [{ uri: 'file:///x', size: '5', annotations: { priority: 7 } }],
    prompts: [{ name: 'p', arguments: ['b'] }],
  }
  const servers = { ...SERVERS, sloppy: { offers: sloppy } }
  source.publish(snapshotOf(servers, { allowedProfiles: ALL }, 2))
  await untilGeneration({ router }, 2)
  const { client: old } = await connect(t, router, 'direct')
  const modern = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  t.after(() => modern.close())
  await modern.connect(new ModernTransport(new URL(`${router.url}/direct`)))
  for (const client of [old, modern]) {
    assert.equal((await client.listTools()).tools.length, 8)
    assert.ok((await client.listResources()).resources.some(({ name }) => name === 'file:///x'))
    assert.ok((await client.listPrompts()).prompts.some(({ name }) => name === 'sloppy__p'))
  }
})

test('only the default profile and the allowed ones are served', async t => {
  const { router, source } = await start(t)
  source.publish(snapshotOf(SERVERS, { profile: 'search', allowedProfiles: ['registry'] }, 7))
  await untilGeneration({ router }, 7)
  const status = async (path: string) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const answer = await fetch(`${router.url}${path}`, { method: 'POST', headers, body })
    return [answer.status, ((await answer.json()) as { result?: { tools: [] } }).result?.tools.length]
  }
  assert.deepEqual(await status(''), [200, 5])
  assert.deepEqual(await status('/search'), [200, 5])
  assert.deepEqual(await status('/registry'), [200, 3])
  assert.deepEqual(await status('/direct'), [404, undefined])
  assert.deepEqual(await status('/hierarchical'), [404, undefined])
})
