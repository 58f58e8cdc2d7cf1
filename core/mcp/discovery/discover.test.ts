/** Discovery against real servers, and against lists that are wrong in every way we know. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { answer, type Behaviour, hang, raw, startRude } from '../../../test/upstreams/http/rude.ts'
import { startSdk1 } from '../../../test/upstreams/http/sdk1.ts'
import { startSdk2 } from '../../../test/upstreams/http/sdk2.ts'
import { SAMPLE_RESOURCES } from '../../../test/upstreams/replay/answer.ts'
import { readOwn } from '../../../test/upstreams/replay/catalogs.ts'
import { startReplay } from '../../../test/upstreams/replay/replay.ts'
import { type Clock, systemClock } from '../../async.ts'
import type { ServerCatalog } from '../../catalog/server-catalog.ts'
import type { Fault } from '../../errors.ts'
import type { JsonValue } from '../../json.ts'
import { connectRemote } from '../client/connect.ts'
import type { Upstream } from '../upstream.ts'
import { type DiscoverOptions, discover } from './discover.ts'
import { MAX_ITEMS, MAX_PAGES } from './read-list.ts'

const never = new AbortController().signal
/** Counts characters instead of tokens, so that new counts differ from reused ones. */
const countCharacters = async (texts: readonly string[]) => texts.map(text => text.length)
const TOOL = { name: 'a', description: 'A tool', inputSchema: { type: 'object' } }

type Test = { after(run: () => Promise<unknown>): void }

async function all(upstream: Upstream, more: Partial<DiscoverOptions> = {}): Promise<ServerCatalog[]> {
  const options = { server: 'demo', clock: systemClock, countTokens: countCharacters, ...more }
  const catalogs: ServerCatalog[] = []
  for await (const catalog of discover(upstream, options, never)) catalogs.push(catalog)
  return catalogs
}

function remote(
  t: Test,
  server: { url: string; close(): Promise<void> },
  clock: Clock = systemClock,
): Upstream {
  const spec = {
    url: server.url,
    transport: 'streamable-http',
    sessions: 'shared',
    startTimeoutMs: 5_000,
  } as const
  const upstream = connectRemote(spec, { clock })
  t.after(() => Promise.all([upstream.close(), server.close()]))
  return upstream
}

/** A server with the given lists; others are not declared. */
async function listing(t: Test, lists: Record<string, Behaviour>, clock?: Clock): Promise<Upstream> {
  const declared = { 'tools/list': 'tools', 'resources/list': 'resources', 'prompts/list': 'prompts' }
  const capabilities = Object.fromEntries(
    Object.entries(declared).flatMap(([method, capability]) => (lists[method] ? [[capability, {}]] : [])),
  )
  const initialize = answer({ protocolVersion: '2025-06-18', capabilities, instructions: 'Be kind' })
  return remote(t, await startRude({ initialize, ...lists }), clock)
}

/** Pages by cursor: page n leads to n + 1. */
function pages(key: string, read: (page: number) => { items: JsonValue[]; next?: JsonValue }): Behaviour {
  return (response, message, request) => {
    const { items, next } = read(Number(message.params?.cursor ?? 0))
    answer({ [key]: items, ...(next === undefined ? {} : { nextCursor: next }) })(response, message, request)
  }
}

test('everything of a server of SDK 1.x is discovered, tools first', async t => {
  const [first, complete, ...more] = await all(remote(t, await startSdk1('stateful')))
  assert.ok(first && complete)
  assert.equal(more.length, 0)
  assert.deepEqual(
    first.tools.map(tool => tool.definition.name),
    ['ask', 'count', 'echo', 'hang', 'header', 'progress'],
  )
  assert.deepEqual([first.resources, first.prompts], [[], []])
  assert.deepEqual(
    complete.resources.map(resource => resource.uri),
    ['text://note'],
  )
  assert.deepEqual(
    complete.prompts.map(prompt => prompt.name),
    ['greet'],
  )
  assert.deepEqual([complete.protocol, complete.instructions], ['2025-11-25', 'A server of SDK 1.x'])
  assert.deepEqual([complete.invalid, complete.incomplete], [[], []])
  assert.notEqual(first.digest, complete.digest)
})

test('a server of SDK 2.x is discovered', async t => {
  const complete = (await all(remote(t, await startSdk2()))).at(-1)
  assert.deepEqual(
    complete?.tools.map(tool => tool.definition.name),
    ['echo'],
  )
  assert.deepEqual(
    complete?.resources.map(resource => resource.uri),
    ['text://note'],
  )
})

test('replayed catalogs are discovered as they were recorded, with the same digest each time', async t => {
  const replay = await startReplay({ catalogs: readOwn() })
  t.after(replay.close)
  for (const { name, tools } of replay.catalogs.slice(0, 3)) {
    const upstream = remote(t, { url: replay.url(name), close: async () => {} })
    const [, once] = await all(upstream)
    const [, twice] = await all(upstream)
    assert.deepEqual(new Set(once?.tools.map(tool => tool.definition)), new Set(tools))
    assert.equal(once?.resources.length, SAMPLE_RESOURCES.length)
    assert.equal(once?.resourceTemplates.length, 1)
    assert.equal(once?.digest, twice?.digest)
  }
})

test('only the bad tool is left out, with a reason', async t => {
  const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`)
  const items: [JsonValue, string | undefined][] = [
    [{ ...TOOL, name: '検索', extra: { kept: true } }, undefined],
    [{ name: 'no schema' }, undefined],
    [{ ...TOOL, name: 'no type', inputSchema: { properties: {} } }, undefined],
    [{ ...TOOL, name: 'odd description', description: 7 }, undefined],
    [{ ...TOOL, name: 'a' }, undefined],
    [{ ...TOOL, name: 'a', description: 'again' }, 'duplicate name: the first one is used'],
    [{ description: 'nameless' }, 'no name'],
    [{ ...TOOL, name: 7 }, 'name is not a string'],
    [{ ...TOOL, name: '' }, 'name is empty'],
    [{ ...TOOL, name: 'x'.repeat(257) }, 'name is longer than 256 characters'],
    [{ ...TOOL, name: 'text', inputSchema: 'any' }, 'inputSchema is not an object'],
    [{ ...TOOL, name: 'deep', inputSchema: deep }, 'nested deeper than 64 levels'],
    [{ ...TOOL, name: 'large', description: 'x'.repeat(300_000) }, 'larger than 262144 characters'],
    [null, 'not an object'],
  ]
  const [catalog] = await all(
    await listing(t, { 'tools/list': answer({ tools: items.map(([item]) => item) }) }),
  )
  assert.deepEqual(
    catalog?.invalid.map(({ reason }) => reason),
    items.flatMap(([, reason]) => reason ?? []),
  )
  assert.deepEqual(
    catalog?.tools.map(tool => tool.definition),
    [
      { ...TOOL, name: 'a' },
      { name: 'no schema', inputSchema: { type: 'object' } },
      { ...TOOL, name: 'no type', inputSchema: { properties: {} } },
      { name: 'odd description', inputSchema: { type: 'object' } },
      { ...TOOL, name: '検索', extra: { kept: true } },
    ],
  )
})

test('the same tools in another order give the same digest', async t => {
  const tools = ['b', 'a', 'c'].map(name => ({ ...TOOL, name }))
  const [one] = await all(await listing(t, { 'tools/list': answer({ tools }) }))
  const [other] = await all(await listing(t, { 'tools/list': answer({ tools: tools.toReversed() }) }))
  assert.equal(one?.digest, other?.digest)
})

test('all pages are read', async t => {
  const list = pages('tools', page => ({
    items: [{ ...TOOL, name: `t${page}` }],
    next: page < 4 ? String(page + 1) : '',
  }))
  const [catalog] = await all(await listing(t, { 'tools/list': list }))
  assert.deepEqual(
    catalog?.tools.map(tool => tool.definition.name),
    ['t0', 't1', 't2', 't3', 't4'],
  )
})

const endless: [string, Behaviour, number, RegExp][] = [
  [
    'whose cursors go in circles',
    pages('tools', page => ({ items: [{ ...TOOL, name: `t${page}` }], next: String((page + 1) % 3) })),
    3,
    /repeats an earlier cursor/,
  ],
  [
    'without end',
    pages('tools', page => ({ items: [{ ...TOOL, name: `t${page}` }], next: String(page + 1) })),
    MAX_PAGES,
    /cut at 200 pages/,
  ],
  [
    'with too many tools',
    pages('tools', page => ({
      items: Array.from({ length: 15_000 }, (_, at) => ({ name: `t${page}-${at}` })),
      next: String(page + 1),
    })),
    MAX_ITEMS,
    /cut at 20000 items/,
  ],
]

for (const [title, list, tools, reason] of endless)
  test(`a list ${title} is cut, and the reason is given`, async t => {
    const [catalog] = await all(await listing(t, { 'tools/list': list }))
    assert.equal(catalog?.tools.length, tools)
    assert.match(catalog?.invalid[0]?.reason ?? '', reason)
  })

const failing: [string, Behaviour, Fault['code']][] = [
  [
    'fails',
    (response, { id }) =>
      void response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'no' } })),
    'upstream_rejected',
  ],
  ['is missing from its answer', answer({ stools: [] }), 'upstream_protocol'],
  ['is not JSON', raw(200, 'application/json', 'oops'), 'upstream_protocol'],
  [
    'is over the limit',
    response => void response.end(Buffer.alloc(33 * 1024 * 1024, ' ')),
    'upstream_too_large',
  ],
]

for (const [title, list, code] of failing)
  test(`a list of tools that ${title} is a fault ${code}`, async t => {
    await assert.rejects(all(await listing(t, { 'tools/list': list })), { code })
  })

test('tools/list that hangs times out', async t => {
  const clock = createManualClock()
  const server = await startRude({ 'tools/list': hang })
  const found = all(remote(t, server, clock), { clock })
  await server.logged('POST tools/list')
  clock.advance(30_000)
  await assert.rejects(found, { code: 'upstream_timeout', message: /tools\/list/ })
})

test('tools are also requested from a server that declares none; if it has no such method, the list is empty', async t => {
  const initialize = answer({ protocolVersion: '2025-06-18', capabilities: {} })
  const tools = await all(remote(t, await startRude({ initialize, 'tools/list': answer({ tools: [TOOL] }) })))
  assert.deepEqual(
    tools.map(catalog => catalog.tools.length),
    [1],
  )
  const none: Behaviour = (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
  const without = await all(remote(t, await startRude({ initialize, 'tools/list': none })))
  assert.deepEqual(
    without.map(catalog => catalog.tools.length),
    [0],
  )
})

test('if resources fail, a reason is given and the last good ones stay', async t => {
  const bad: Behaviour = (response, { id }) =>
    void response.end(
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'database is away' } }),
    )
  const good = answer({ resources: [{ uri: 'a://1', name: 'one' }, { uri: 7 }, { uri: 'a://1' }] })
  const lists = {
    'tools/list': answer({ tools: [TOOL] }),
    'prompts/list': answer({ prompts: [{ name: 'p' }] }),
  }
  const unknown: Behaviour = (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
  const before = (
    await all(await listing(t, { ...lists, 'resources/list': good, 'resources/templates/list': unknown }))
  ).at(-1)
  assert.deepEqual(before?.resources, [{ uri: 'a://1', name: 'one' }])
  assert.deepEqual(before?.incomplete, [
    { list: 'resources', message: '2 of 3 left out: uri is not a string' },
  ])
  const broken = await listing(t, { ...lists, 'resources/list': bad, 'resources/templates/list': unknown })
  const [first, after] = await all(broken, { previous: before })
  assert.deepEqual(first, before)
  assert.deepEqual(after?.resources, before?.resources)
  assert.deepEqual(after?.prompts, [{ name: 'p' }])
  assert.deepEqual(after?.incomplete, [
    { list: 'resources', message: 'resources/list failed: database is away' },
  ])
})

test('only tools that changed are counted again', async t => {
  let changed = 'old'
  const list: Behaviour = (response, message, request) =>
    answer({ tools: [TOOL, { ...TOOL, name: 'b', description: changed }] })(response, message, request)
  const upstream = await listing(t, { 'tools/list': list })
  const [previous] = await all(upstream)
  assert.equal(previous?.tools[0]?.tokens, JSON.stringify(TOOL).length)
  assert.equal(previous?.tools[0]?.descriptionTokens, 'A tool'.length)
  assert.equal(previous?.tools[0]?.schemaTokens, '{"type":"object"}'.length)
  changed = 'new text'
  const counted: string[] = []
  const countTokens = async (texts: readonly string[]) => {
    counted.push(...texts)
    return texts.map(() => 1)
  }
  const [next] = await all(upstream, { previous, countTokens })
  assert.equal(counted.length, 3)
  assert.deepEqual(
    next?.tools.map(tool => tool.tokens),
    [previous?.tools[0]?.tokens, 1],
  )
})
