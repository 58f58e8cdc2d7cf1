/** What the three tools of the registry profile take and answer, and what a session's list shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { JsonObject } from '../../core/json.ts'
import { PROFILES } from '../../router/meta/profiles/profiles.ts'
import { asking } from './asking.ts'
import { type Fixture, golden, type RequestOptions } from './fixture.ts'
import { forge, ISSUE_SCHEMA, SERVERS, wiki } from './servers.ts'

const ANNA = 'anna'

type Activated = {
  loaded: string[]
  active_count: number
  estimated_tokens: number
  evicted: string[]
  not_loaded?: { tool: string; reason: string }[]
  definitions: { name: string; description: string; inputSchema: JsonObject }[]
  more?: string
}

const { route, start, ask, read, refusal } = asking('registry', ANNA)

const activate = (
  fixture: Fixture,
  tools: JsonObject[string],
  more: RequestOptions = {},
): Promise<Activated> => read(fixture, 'activate', { tools }, more)

async function listed(fixture: Fixture, caller: { client?: string } = { client: ANNA }): Promise<string[]> {
  const { result } = await fixture.request('tools/list', {}, { route, ...caller })
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

test('the three tools are listed as they are documented', async t => {
  const { result } = await start().request('tools/list', {}, { route })
  t.assert.fileSnapshot(JSON.stringify(result, null, 2), golden('tools-list-registry.json'), {
    serializers: [String],
  })
})

test('activate loads definitions and counts their tokens; only the list of this session shows them', async () => {
  const fixture = start()
  const notified: string[] = []
  const notify = ({ method }: { method: string }) => void notified.push(method)
  const answer = await activate(fixture, ['forge:create_issue', 'wiki__search'], { notify })
  const { definitions, estimated_tokens, ...rest } = answer
  assert.deepEqual(rest, {
    loaded: ['forge:create_issue', 'wiki:search'],
    active_count: 2,
    evicted: [],
  })
  assert.deepEqual(definitions[0], {
    name: 'forge__create_issue',
    description: 'Create an issue in a repository',
    inputSchema: ISSUE_SCHEMA,
  })
  const { toolByName } = fixture.catalog()
  const tokensOf = (path: string) => toolByName.get(path)?.tokens ?? Number.NaN
  const prefixes = 2 * 2
  assert.equal(
    estimated_tokens,
    PROFILES.registry.prices.tools + tokensOf('forge:create_issue') + tokensOf('wiki:search') + prefixes,
  )
  assert.deepEqual(notified, ['notifications/tools/list_changed'])
  const own = ['discover', 'activate', 'execute']
  assert.deepEqual(await listed(fixture), [...own, 'forge__create_issue', 'wiki__search'])
  assert.deepEqual(await listed(fixture, { client: 'berta' }), own)
  assert.deepEqual(await listed(fixture, {}), own)
  await activate(fixture, 'forge:create_issue', { notify })
  assert.equal(notified.length, 1, 'no notification without a change')
})

test('an activated tool is listed as its server defines it, with URIs that can be read here', async () => {
  const fixture = start()
  await activate(fixture, ['forge:show_board'])
  const { result } = await fixture.request('tools/list', {}, { route, client: ANNA })
  assert.deepEqual((result?.tools as JsonObject[])[3], {
    name: 'forge__show_board',
    description: 'Show the board of issues',
    inputSchema: { type: 'object', properties: {} },
    _meta: { ui: { resourceUri: 'ui://forge/board/main' }, vendor: 1 },
  })
})

test('the least recently used tool is deactivated; every call counts as a use', async () => {
  const fixture = start(SERVERS, { activeTools: 2 })
  await activate(fixture, ['forge:show_board', 'forge:delete_repository'])
  const args = { repository: 'a/b', title: 'x' }
  await ask(fixture, 'forge__show_board', {})
  const first = await activate(fixture, ['forge:create_issue'])
  assert.deepEqual([first.evicted, first.active_count], [['forge:delete_repository'], 2])
  await ask(fixture, 'execute', { tool: 'forge:show_board' })
  const second = await activate(fixture, ['wiki:list_issues'])
  assert.deepEqual(second.evicted, ['forge:create_issue'])
  await ask(fixture, 'execute', { tool: 'show_board', args: {} })
  assert.deepEqual((await activate(fixture, ['wiki:search'])).evicted, ['wiki:list_issues'])
  await ask(fixture, 'forge:create_issue', args)
  assert.deepEqual((await listed(fixture)).slice(3), ['forge__show_board', 'wiki__search'])
})

test('tools beyond definitionTokens are not loaded, and the answer names execute', async () => {
  const fixture = start(SERVERS, { definitionTokens: 500 })
  const text = await refusal(fixture, 'activate', { tools: ['wiki:search'] })
  assert.match(text, /No room for "wiki:search" \(\d+ tokens\): 10 tools and 500 tokens .* execute/)
  const some = await activate(fixture, ['forge:show_board', 'wiki:search', 'nobody:nothing', 'forge:triage'])
  assert.deepEqual(some.loaded, ['forge:show_board'])
  assert.deepEqual(
    some.not_loaded?.map(({ tool }) => tool),
    ['nobody:nothing', 'forge:triage', 'wiki:search'],
  )
  assert.ok(some.estimated_tokens <= 500)
})

test('many tools that were not loaded are counted, and long names stay within the budget', async () => {
  const tools = Array.from({ length: 40 }, (_, at) => ({ name: `tool_${at}`, inputSchema: {} }))
  const fixture = start({ big: { offers: { tools } } }, { activeTools: 2, responseTokens: 300 })
  const names = tools.map(({ name }) => `big:${name}`)
  const { loaded, not_loaded = [] } = await activate(fixture, names)
  assert.equal(loaded.length, 2)
  const [last] = not_loaded.slice(-1)
  assert.equal(last?.tool, `and ${38 - (not_loaded.length - 1)} more`)
  for (const wrong of ['x'.repeat(50_000), 'largo y ancho '.repeat(5_000)]) {
    const { content } = await ask(fixture, 'activate', { tools: ['big:tool_1', wrong] })
    assert.ok(encode(content[0]?.text ?? '').length <= 300, content[0]?.text.slice(0, 200))
  }
})

test('of many unknown names only the first three get suggestions, since these take time', async () => {
  const fixture = start(SERVERS, { responseTokens: 5_000 })
  const wrong = Array.from({ length: 6 }, (_, at) => `forge:create_isue_${at}`)
  const { loaded, not_loaded = [] } = await activate(fixture, [...wrong, 'show_board'])
  assert.deepEqual(loaded, ['forge:show_board'])
  assert.deepEqual(
    not_loaded.map(({ reason }) => /The nearest: forge:create_issue/.test(reason)),
    [true, true, true, false, false, false],
  )
})

test('definitions over the budget of an answer are counted, and the first is folded if it is too large by itself', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `field_${at}`,
      { type: 'string', description: 'means '.repeat(9) },
    ]),
  )
  const tools = ['one', 'two', 'three'].map(name => ({
    name,
    description: 'does '.repeat(300),
    inputSchema: { type: 'object', properties, required: ['field_3'] },
  }))
  const fixture = start({ big: { offers: { tools } } })
  const paths = tools.map(({ name }) => `big:${name}`)
  const { loaded, definitions, more } = await activate(fixture, paths)
  assert.deepEqual(loaded, paths)
  assert.equal(definitions.length, 1)
  assert.ok(definitions[0]?.inputSchema.properties)
  assert.equal(
    more,
    'The inputSchema of big__one is folded; it is whole in tools/list. 2 more definitions did not fit here: they are in tools/list.',
  )
  const noSession = { client: undefined }
  assert.match(
    (await activate(fixture, paths, noSession)).more ?? '',
    /activate "big:one#\/properties\/NAME"\. 2 more .* activate those tools in a call of their own\./,
  )
  const part = await activate(fixture, ['big:one#/properties/field_7'], noSession)
  assert.deepEqual([part.loaded, part.definitions[0]?.inputSchema], [[], properties.field_7])
  assert.match(
    await refusal(fixture, 'activate', { tools: ['big:one#/properties/none'] }),
    /There is no part .* It has: field_0/,
  )
})

test('without a session activate returns the definitions and keeps nothing', async () => {
  const fixture = start()
  const notified: string[] = []
  const answer = await activate(fixture, ['forge:create_issue'], {
    client: undefined,
    notify: ({ method }) => void notified.push(method),
  })
  assert.deepEqual([answer.loaded, answer.active_count, answer.evicted], [['forge:create_issue'], 0, []])
  assert.equal(answer.definitions[0]?.name, 'forge__create_issue')
  assert.deepEqual([await listed(fixture, {}), notified], [['discover', 'activate', 'execute'], []])
})

test('the active tools end with the session; removed or hidden tools are not listed', async () => {
  const fixture = start()
  await activate(fixture, ['forge:create_issue', 'wiki:search'])
  const hidden = { state: 'failed', reason: 'CrashLooping', hidden: true } as const
  fixture.reload({ forge: { ...forge, server: { ...forge.server, status: hidden } }, wiki })
  assert.deepEqual((await listed(fixture)).slice(3), ['wiki__search'])
  fixture.reload({ forge })
  assert.deepEqual((await listed(fixture)).slice(3), ['forge__create_issue'])
  fixture.handler.forget?.(ANNA)
  assert.deepEqual((await listed(fixture)).slice(3), [])
})

test('tools of a server that is hidden for a while stay active while others are activated, within the limit', async () => {
  const fixture = start(SERVERS, { activeTools: 3 })
  await activate(fixture, ['forge:create_issue', 'forge:show_board'])
  const hidden = { state: 'failed', reason: 'CrashLooping', hidden: true } as const
  fixture.reload({ forge: { ...forge, server: { ...forge.server, status: hidden } }, wiki })
  const { active_count, evicted } = await activate(fixture, ['wiki:search'])
  assert.deepEqual([active_count, evicted], [1, []])
  fixture.reload(SERVERS)
  const all = ['forge__create_issue', 'forge__show_board', 'wiki__search']
  assert.deepEqual((await listed(fixture)).slice(3), all)
  fixture.reload({ forge: { ...forge, server: { ...forge.server, status: hidden } }, wiki })
  await activate(fixture, ['wiki:list_issues'])
  fixture.reload(SERVERS)
  assert.deepEqual((await listed(fixture)).slice(3), [
    'forge__show_board',
    'wiki__list_issues',
    'wiki__search',
  ])
})

test('the error for an unknown tool names the nearest, that for a hidden one its state; nothing is loaded', async () => {
  const hidden = { state: 'authRequired', reason: 'AuthRequired', hidden: true } as const
  const fixture = start({ forge, wiki: { ...wiki, server: { status: hidden } } })
  assert.match(
    await refusal(fixture, 'activate', { tools: ['forge:create_isue'] }),
    /There is no tool "forge:create_isue"\. The nearest: forge:create_issue.* Or search with discover\./,
  )
  assert.match(await refusal(fixture, 'activate', { tools: ['wiki:search'] }), /"wiki" needs credentials/)
  assert.match(await refusal(fixture, 'discover', { query: 'wiki:search' }), /"wiki" needs credentials/)
  assert.deepEqual((await listed(fixture)).slice(3), [])
})

test('execute takes any form of a name, arguments as text too, and needs no activation', async () => {
  const fixture = start()
  const args = { repository: 'a/b', title: 'x' }
  for (const [tool, given] of [
    ['forge:create_issue', args],
    ['forge__create_issue', args],
    ['create_issue', JSON.stringify(args)],
  ] as const) {
    const { isError, content } = await ask(fixture, 'execute', { tool, args: given })
    assert.equal(isError, undefined, content[0]?.text)
    assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, args)
  }
  assert.equal((await ask(fixture, 'execute', { tool: 'forge:show_board' })).isError, undefined)
})

test('the error for invalid arguments says what to give', async () => {
  const fixture = start()
  for (const [name, args, sentence] of [
    ['discover', { query: 7 }, /query is missing/],
    ['discover', { query: 'a', limit: [] }, /limit is no number/],
    ['discover', { query: 'a', category: 7 }, /category is no text/],
    ['activate', {}, /tools is missing: an array of 1 to 50/],
    ['activate', { tools: [7] }, /tools is missing/],
    ['activate', { tools: Array.from({ length: 51 }, () => 'a') }, /tools is missing/],
    ['execute', {}, /tool is missing/],
    ['execute', { tool: 'forge:none' }, /There is no tool .* Or search with discover\./],
  ] as const)
    assert.match(await refusal(fixture, name, args as JsonObject), sentence)
})
