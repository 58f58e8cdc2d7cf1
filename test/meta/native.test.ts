/** The protocol's own requests on a gateway route and on a single server's route, and what routes declare. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { createFixture, type FixtureServer, GATEWAY, golden } from './fixture.ts'
import { forge, SERVERS } from './servers.ts'

const FORGE: McpRoute = { kind: 'server', server: 'forge' }

test('tools/list of the gateway returns its meta-tools; their tokens and those of all tools are counted', async t => {
  const fixture = createFixture(SERVERS)
  const reply = await fixture.request('tools/list')
  t.assert.fileSnapshot(JSON.stringify(reply.result, null, 2), golden('tools-list.json'), {
    serializers: [String],
  })
  assert.deepEqual(
    (reply.result?.tools as JsonObject[]).map(tool => tool.name),
    ['discover_mcp_tools', 'execute_mcp_tool', 'list_mcp_resources', 'read_mcp_resource'],
  )
  const { direct, served } = fixture.seen
  assert.equal(direct, fixture.catalog().totals.tokens)
  assert.ok((served.definitions ?? 0) > 200)
})

test('resources and templates are listed as valid URIs with everything else kept', async () => {
  const fixture = createFixture(SERVERS)
  const resources = (await fixture.request('resources/list')).result?.resources as JsonObject[]
  assert.deepEqual(
    resources.map(({ uri }) => uri),
    ['forge+file:///readme.md', 'ui://forge/board/main', 'wiki+wiki://home'],
  )
  assert.equal(resources[0]?.custom, true)
  for (const { uri } of resources) assert.ok(URL.canParse(uri as string), uri as string)
  const templates = await fixture.request('resources/templates/list')
  assert.deepEqual(
    (templates.result?.resourceTemplates as JsonObject[])[0]?.uriTemplate,
    'forge+file:///{path}',
  )
})

test('native lists have pages', async () => {
  const many = Array.from({ length: 450 }, (_, i) => ({ uri: `file:///${i}`, name: `${i}` }))
  const prompts = Array.from({ length: 250 }, (_, i) => ({ name: `p${i}` }))
  const fixture = createFixture({ files: { offers: { resources: many, prompts } } })
  for (const [method, field, total] of [
    ['resources/list', 'resources', 450],
    ['prompts/list', 'prompts', 250],
  ] as const) {
    const seen = new Set<unknown>()
    let cursor: unknown
    do {
      const { result } = await fixture.request(
        method,
        cursor === undefined ? {} : { cursor: cursor as string },
      )
      for (const item of result?.[field] as JsonObject[]) seen.add(item.uri ?? item.name)
      cursor = result?.nextCursor
    } while (cursor !== undefined)
    assert.equal(seen.size, total)
    assert.equal((await fixture.request(method, { cursor: 'x' })).error?.code, -32602)
  }
})

test('a native read answers with the URIs of the gateway', async () => {
  const answer = () => ({
    result: { contents: [{ uri: 'file:///readme.md', text: 'x', extra: 1 }], _meta: { a: 1 } },
  })
  const fixture = createFixture({ forge: { ...forge, answer } })
  const reply = await fixture.request('resources/read', {
    uri: 'forge+file:///readme.md',
    _meta: { progressToken: 1 },
  })
  assert.deepEqual(reply, {
    result: { contents: [{ uri: 'forge+file:///readme.md', text: 'x', extra: 1 }], _meta: { a: 1 } },
  })
  assert.deepEqual(fixture.sent[0]?.call.params, { uri: 'file:///readme.md', _meta: { progressToken: 1 } })
  assert.equal((await fixture.request('resources/read', { uri: 'gone+file:///x' })).error?.code, -32002)
  assert.equal((await fixture.request('resources/read', {})).error?.code, -32602)
})

test('prompts are listed and fetched under their listed names', async () => {
  const messages = [{ role: 'user', content: { type: 'resource_link', uri: 'file:///a', name: 'a' } }]
  const fixture = createFixture({ forge: { ...forge, answer: () => ({ result: { messages } }) } })
  const listed = (await fixture.request('prompts/list')).result?.prompts as JsonObject[]
  assert.deepEqual(listed, [{ ...forge.offers?.prompts?.[0], name: 'forge__triage' }])
  const reply = await fixture.request('prompts/get', {
    name: 'forge__triage',
    arguments: { repository: 'a/b' },
  })
  assert.deepEqual(reply.result, {
    messages: [{ role: 'user', content: { type: 'resource_link', uri: 'forge+file:///a', name: 'a' } }],
  })
  assert.deepEqual(fixture.sent[0]?.call.params, { name: 'triage', arguments: { repository: 'a/b' } })
  const unknown = await fixture.request('prompts/get', { name: 'forge__triag' })
  assert.match(unknown.error?.message ?? '', /no prompt "forge__triag"\. The nearest: forge__triage/)
})

test('completions reach their prompt or template', async () => {
  const fixture = createFixture({
    forge: { ...forge, answer: () => ({ result: { completion: { values: ['a'] } } }) },
  })
  const argument = { name: 'repository', value: 'a' }
  const refs = [
    { type: 'ref/prompt', name: 'forge__triage' },
    { type: 'ref/resource', uri: 'forge+file:///{path}' },
  ]
  for (const ref of refs)
    assert.deepEqual((await fixture.request('completion/complete', { ref, argument })).result, {
      completion: { values: ['a'] },
    })
  assert.deepEqual(
    fixture.sent.map(({ call }) => call.params?.ref),
    [
      { type: 'ref/prompt', name: 'triage' },
      { type: 'ref/resource', uri: 'file:///{path}' },
    ],
  )
  assert.equal((await fixture.request('completion/complete', { argument })).error?.code, -32602)
})

test('faults and errors of native requests are JSON-RPC errors', async () => {
  const dying = {
    ...forge,
    answer: () => {
      throw new Fault('upstream_died', 'http://10.0.0.7')
    },
  }
  const reply = await createFixture({ forge: dying }).request('resources/read', { uri: 'forge+file:///x' })
  assert.equal(reply.error?.code, -32603)
  assert.match(reply.error?.message ?? '', /^The connection to server "forge" ended during the call/)
  const error = { code: -32002, message: 'Not found', data: { uri: 'x' } }
  const refusing = { ...forge, answer: () => ({ error }) }
  assert.deepEqual(
    (await createFixture({ forge: refusing }).request('resources/read', { uri: 'forge+file:///x' })).error,
    error,
  )
})

test('other methods, other profiles and unknown tools are refused clearly', async () => {
  const fixture = createFixture(SERVERS)
  assert.equal((await fixture.request('resources/subscribe')).error?.code, -32601)
  const closed = { kind: 'gateway', profile: 'direct' } as const
  assert.match(
    (await fixture.request('tools/list', {}, { route: closed })).error?.message ?? '',
    /not allowed/,
  )
  assert.equal((await fixture.call('forge__nothing', {})).isError, true)
})

test('the instructions of a gateway describe it and its servers briefly', () => {
  const fixture = createFixture(SERVERS)
  const described = fixture.handler.describe(GATEWAY, ANONYMOUS)
  assert.deepEqual(described?.capabilities, {
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    logging: {},
  })
  assert.equal(described?.serverInfo.name, 'portolan')
  assert.equal(
    described?.instructions,
    '7 tools of 2 servers: search with discover_mcp_tools, call with execute_mcp_tool. Servers: devops: forge; other: wiki.',
  )
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`server-number-${i}`, forge]))
  const instructions = createFixture(many).handler.describe(GATEWAY, ANONYMOUS)?.instructions ?? ''
  assert.match(instructions, /Categories: devops \(300\)\.$/)
  const plain = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`server-number-${i}`, { offers: {} }]),
  )
  assert.match(
    createFixture(plain).handler.describe(GATEWAY, ANONYMOUS)?.instructions ?? '',
    / and 28\d more\.$/,
  )
})

test('the lists of a single server are passed on unchanged, without denied tools', async () => {
  const fixture = createFixture({
    forge: { ...forge, server: { tools: { allow: ['*'], deny: ['delete_*'], overrides: {} } } },
  })
  const lists: [string, string, unknown][] = [
    ['tools/list', 'tools', forge.offers?.tools?.filter(tool => tool.name !== 'delete_repository')],
    ['resources/list', 'resources', forge.offers?.resources],
    ['resources/templates/list', 'resourceTemplates', forge.offers?.resourceTemplates],
    ['prompts/list', 'prompts', forge.offers?.prompts],
  ]
  for (const [method, field, expected] of lists)
    assert.deepEqual((await fixture.request(method, {}, { route: FORGE })).result?.[field], expected)
  assert.equal(fixture.seen.direct, fixture.seen.served.definitions)
})

test('the answers of a single server are passed on unchanged', async () => {
  const result = {
    content: [{ type: 'resource_link', uri: 'file:///a', name: 'a' }],
    _meta: { ui: { resourceUri: 'ui://board/main' } },
  }
  const answered = { result, resultText: ' {} ' }
  const fixture = createFixture({ forge: { ...forge, answer: () => answered } })
  for (const [method, params] of [
    ['tools/call', { name: 'create_issue', arguments: {} }],
    ['resources/read', { uri: 'file:///a' }],
    ['prompts/get', { name: 'triage' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'triage' } }],
  ] as const) {
    assert.equal(await fixture.request(method, params, { route: FORGE }), answered)
    assert.deepEqual(fixture.sent.at(-1)?.call.params, params)
  }
  const error = { code: -32602, message: 'no' }
  const refusing = createFixture({ forge: { ...forge, answer: () => ({ error }) } })
  assert.deepEqual(
    (await refusing.request('tools/call', { name: 'create_issue' }, { route: FORGE })).error,
    error,
  )
})

test('a single server refuses what its policy, its state or the gateway does not allow', async () => {
  const denied = createFixture({
    forge: { ...forge, server: { tools: { allow: ['list_*'], deny: [], overrides: {} } } },
  })
  assert.equal(
    (await denied.request('tools/call', { name: 'create_issue' }, { route: FORGE })).error?.code,
    -32602,
  )
  assert.deepEqual(denied.sent, [])
  const failed = createFixture({ forge: { ...forge, server: { status: { state: 'failed', hidden: true } } } })
  assert.match(
    (await failed.request('tools/list', {}, { route: FORGE })).error?.message ?? '',
    /"forge" is down/,
  )
  const closed = createFixture({ forge }, { exposeServers: false })
  assert.equal((await closed.request('tools/list', {}, { route: FORGE })).error?.code, -32601)
  assert.equal(closed.handler.describe(FORGE, ANONYMOUS), undefined)
  assert.equal(denied.handler.describe({ kind: 'server', server: 'gone' }, ANONYMOUS), undefined)
})

test('a single server declares its own capabilities, without those that do not work here', () => {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    logging: {},
    tasks: { list: {} },
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } },
    experimental: { vendor: { a: 1 } },
    unheardOf: { b: 2 },
  }
  const offers = {
    ...forge.offers,
    capabilities,
    serverInfo: { name: 'forge-mcp', version: '3' },
    instructions: 'Be kind.',
  }
  const { logging, tasks, ...others } = capabilities
  const shared = { ...others, tools: {} }
  const describe = (server: FixtureServer['server']) =>
    createFixture({ forge: { server, offers } }).handler.describe(FORGE, ANONYMOUS)
  assert.deepEqual(describe({ transport: 'http' })?.capabilities, { ...shared, logging })
  assert.deepEqual(describe({ sessions: 'perClient' })?.capabilities, { ...shared, logging, tasks })
  assert.deepEqual(describe({}), {
    capabilities: shared,
    serverInfo: { name: 'forge-mcp', version: '3' },
    instructions: 'Be kind.',
  })
})
