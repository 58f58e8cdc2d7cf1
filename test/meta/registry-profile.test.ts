/** What the three tools of the registry profile take and answer, and what a session's list shows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import type { McpRequest } from '../../core/mcp/front/handler.ts'
import { asking } from './asking.ts'
import { type Fixture, golden } from './fixture.ts'
import { forge, ISSUE_SCHEMA, LONG_DESCRIPTION, SERVERS, wiki } from './servers.ts'

const ANNA = 'anna'

type Tool = { name: string; server: string; category: string; description: string; relevance: number }
type Found = {
  tools: Tool[]
  categories?: { category: string; servers: string[]; tools: number }[]
  resources?: JsonObject[]
  prompts?: JsonObject[]
}
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

const discover = (fixture: Fixture, args: JsonObject): Promise<Found> => read(fixture, 'discover', args)
const activate = (
  fixture: Fixture,
  tools: JsonObject[string],
  more: Partial<McpRequest> = {},
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

test('discover answers the documented fields, five at most, descriptions within a hundred characters', async () => {
  const { tools, categories } = await discover(start(), { query: 'forge create issue' })
  assert.deepEqual(tools[0], {
    name: 'forge:create_issue',
    server: 'forge',
    category: 'devops',
    description: 'Create an issue in a repository',
    relevance: 1,
  })
  assert.ok(tools.length <= 5)
  assert.equal(categories, undefined)
  const [long] = (await discover(start(), { query: 'wiki:search' })).tools
  assert.ok(
    long && long.description.length <= 100 && LONG_DESCRIPTION.startsWith(long.description.slice(0, 80)),
  )
  assert.equal(long.category, 'other')
})

test('a category narrows the search; a server by name or title does so too', async () => {
  const fixture = start()
  const servers = async (category: string) =>
    new Set(
      (await discover(fixture, { query: 'issues', category, limit: 50 })).tools.map(({ server }) => server),
    )
  assert.deepEqual(await servers('DevOps'), new Set(['forge']))
  assert.deepEqual(await servers('other'), new Set(['wiki']))
  assert.deepEqual(await servers('Wiki'), new Set(['wiki']))
  assert.deepEqual(await servers('none'), new Set())
})

test("a tool's own category goes before its server's", async () => {
  const tools = { allow: ['*'], deny: [], overrides: { create_issue: { category: 'tickets' } } }
  const fixture = start({ forge: { ...forge, server: { ...forge.server, tools } } })
  assert.equal((await discover(fixture, { query: 'forge:create_issue' })).tools[0]?.category, 'tickets')
  assert.deepEqual((await discover(fixture, { query: 'issue', category: 'tickets' })).tools.length, 1)
  assert.deepEqual((await discover(fixture, { query: '' })).categories, [
    { category: 'devops', servers: ['forge'], tools: 3 },
    { category: 'tickets', servers: ['forge'], tools: 1 },
  ])
})

test('where nothing is found the categories come, and each can be looked into', async () => {
  const fixture = start()
  for (const query of ['zzqqxx', '']) {
    const { tools, categories } = await discover(fixture, { query })
    assert.deepEqual(tools, [])
    assert.deepEqual(categories, [
      { category: 'devops', servers: ['forge'], tools: 4 },
      { category: 'other', servers: ['wiki'], tools: 3 },
    ])
  }
  const { tools } = await discover(fixture, { query: '', category: 'other' })
  assert.deepEqual(new Set(tools.map(({ server }) => server)), new Set(['wiki']))
  assert.equal(tools.length, 3)
})

test('resources and prompts come along with the names by which execute takes them', async () => {
  const fixture = start()
  const { prompts } = await discover(fixture, { query: 'forge triage new issues' })
  assert.equal(prompts?.[0]?.prompt_path, 'forge:triage')
  const { resources } = await discover(fixture, { query: 'forge readme' })
  assert.equal(resources?.[0]?.uri, 'forge|file:///readme.md')
  await ask(fixture, 'execute', { tool: 'forge:triage', args: { repository: 'a/b' } })
  await ask(fixture, 'execute', { tool: 'forge|file:///readme.md' })
  assert.deepEqual(
    fixture.sent.map(({ call }) => call.method),
    ['prompts/get', 'resources/read'],
  )
})

test('activate loads definitions and counts them; the list shows them to this session alone', async () => {
  const fixture = start()
  const told: string[] = []
  const notify = ({ method }: { method: string }) => void told.push(method)
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
  assert.equal(estimated_tokens, 268 + tokensOf('forge:create_issue') + tokensOf('wiki:search') + prefixes)
  assert.deepEqual(told, ['notifications/tools/list_changed'])
  const own = ['discover', 'activate', 'execute']
  assert.deepEqual(await listed(fixture), [...own, 'forge__create_issue', 'wiki__search'])
  assert.deepEqual(await listed(fixture, { client: 'berta' }), own)
  assert.deepEqual(await listed(fixture, {}), own)
  await activate(fixture, 'forge:create_issue', { notify })
  assert.equal(told.length, 1, 'nothing changed, nothing told')
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

test('the least recently used makes room; every call of a tool is a use of it', async () => {
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

test('what is over the budget of definitions is not loaded, and execute is named instead', async () => {
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

test('definitions beyond the budget of an answer are named, and the first is folded where it is too large alone', async () => {
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
  const alone = { client: undefined }
  assert.match(
    (await activate(fixture, paths, alone)).more ?? '',
    /activate "big:one#\/properties\/NAME"\. 2 more .* activate those tools in a call of their own\./,
  )
  const part = await activate(fixture, ['big:one#/properties/field_7'], alone)
  assert.deepEqual([part.loaded, part.definitions[0]?.inputSchema], [[], properties.field_7])
  assert.match(
    await refusal(fixture, 'activate', { tools: ['big:one#/properties/none'] }),
    /There is no part .* It has: field_0/,
  )
})

test('without a session the definitions are answered, and nothing is kept', async () => {
  const fixture = start()
  const told: string[] = []
  const answer = await activate(fixture, ['forge:create_issue'], {
    client: undefined,
    notify: ({ method }) => void told.push(method),
  })
  assert.deepEqual([answer.loaded, answer.active_count, answer.evicted], [['forge:create_issue'], 0, []])
  assert.equal(answer.definitions[0]?.name, 'forge__create_issue')
  assert.deepEqual([await listed(fixture, {}), told], [['discover', 'activate', 'execute'], []])
})

test('a session that ends takes its set along; a tool that goes, or whose server is hidden, is not listed', async () => {
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

test('an unknown tool names the nearest, a hidden one its state, and nothing is loaded', async () => {
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

test('what cannot be read says what to give', async () => {
  const fixture = start()
  for (const [name, args, sentence] of [
    ['discover', {}, /query is missing/],
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
