/** What discover_mcp_tools answers, field by field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { NOTHING_FITS } from '../../router/meta/finding/search-catalog.ts'
import { composeDiscovery } from '../../router/meta/profiles/hierarchical/discovery-answer.ts'
import { createFixture, type Fixture, golden } from './fixture.ts'
import { forge, ISSUE_SCHEMA, LONG_DESCRIPTION, SERVERS } from './servers.ts'

type Tool = {
  tool_path: string
  description: string
  input_schema?: unknown
  weak?: boolean
  [key: string]: unknown
}
type Answer = {
  tools: Tool[]
  resources?: unknown[]
  prompts?: unknown[]
  total_found: number
  search_time_ms: number
  query: unknown
  more?: string
}

test('an answer has the documented fields in the documented order', async () => {
  const fixture = createFixture(SERVERS)
  const asked = { query: 'forge create issue', limit: 10 }
  const { content, ...rest } = await fixture.call('discover_mcp_tools', asked)
  assert.deepEqual(rest, {})
  assert.deepEqual(Object.keys(content[0] ?? {}), ['type', 'text'])
  const answer: Answer = JSON.parse(content[0]?.text ?? '')
  assert.deepEqual(
    Object.keys(answer).filter(key => key !== 'resources' && key !== 'prompts'),
    ['tools', 'total_found', 'search_time_ms', 'query'],
  )
  assert.deepEqual(Object.keys(answer.tools[0] ?? {}), [
    'tool_path',
    'description',
    'server_name',
    'transport',
    'relevance_score',
    'input_schema',
  ])
  assert.equal(answer.tools[0]?.tool_path, 'forge:create_issue')
  assert.deepEqual(fixture.seen.searches, [answer.tools.length])
})

test('found tools are written in the documented form', t => {
  const catalog = createFixture(SERVERS).catalog()
  const found = (path: string, relevance: number, weak = false) => ({
    item: catalog.toolByName.get(path) ?? assert.fail(),
    relevance,
    weak,
    whole: false,
  })
  const { text, tokens, schemaTokens } = composeDiscovery({
    catalog,
    tools: [
      found('forge:show_board', 1),
      found('forge:create_issue', 0.4567),
      found('wiki:search', 0.1, true),
    ],
    extras: catalog.extras.map(item => ({ item, relevance: 1, weak: false, whole: false })),
    totalFound: 17,
    from: 0,
    hasMore: true,
    cursorAfter: shown => `after ${shown}`,
    searchMs: 0.1234,
    query: ['board', 'issue'],
  })
  t.assert.fileSnapshot(JSON.stringify(JSON.parse(text), null, 2), golden('discover.json'), {
    serializers: [String],
  })
  assert.ok(tokens > schemaTokens && schemaTokens > 0)
})

test('a tool requested by path keeps its _meta, with the URI of its page in the form that can be read here', async () => {
  const [tool] = (await discover(createFixture(SERVERS), 'forge:show_board')).tools
  assert.deepEqual(tool?._meta, { ui: { resourceUri: 'ui://forge/board/main' }, vendor: 1 })
  assert.equal(tool?.transport, 'http')
  assert.equal(tool?.server_name, 'forge')
})

test('an exact path, in either form, returns only its tool, with the full description and schema', async () => {
  const fixture = createFixture(SERVERS)
  for (const query of ['wiki:search', 'wiki__search', ' wiki:search ']) {
    const { tools, total_found } = await discover(fixture, query)
    assert.deepEqual([tools.length, total_found], [1, 1])
    assert.equal(tools[0]?.description, LONG_DESCRIPTION)
    assert.deepEqual(tools[0]?.input_schema, {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    })
    assert.equal(tools[0]?.relevance_score, 1)
  }
  assert.equal((await discover(fixture, 'wiki:ページ:作成')).tools[0]?.tool_path, 'wiki:ページ:作成')
})

test('in lists long descriptions are cut', async () => {
  const { tools } = await discover(createFixture(SERVERS), 'wiki search')
  assert.equal(tools[0]?.tool_path, 'wiki:search')
  assert.ok(tools[0].description.length <= 140 && tools[0].description.endsWith('…'))
})

test('schemas come with the best hits while the budget lasts, and the answer keeps to it', async () => {
  const tools: ToolDefinition[] = Array.from({ length: 60 }, (_, i) => ({
    name: `create_issue_${i}`,
    description: 'Create an issue in a repository, with a title, labels and people who are to look at it',
    inputSchema: { ...ISSUE_SCHEMA, properties: { first: ISSUE_SCHEMA, second: ISSUE_SCHEMA } },
  }))
  const fixture = createFixture({ forge: { ...forge, offers: { tools } } })
  const ten = await discover(fixture, 'create issue')
  assert.equal(ten.tools.length, 10)
  assert.equal(ten.total_found, 60)
  const withSchema = ten.tools.map(tool => tool.input_schema !== undefined)
  assert.deepEqual([...withSchema.slice(0, 3), withSchema.at(-1)], [true, true, true, false])
  assert.equal(ten.more, '50 more: continue with nextCursor; other schemas: query select:PATH,PATH')
  assert.deepEqual(withSchema, withSchema.toSorted().reverse(), 'the best ones come first')
  const fifty = await discover(fixture, 'create issue', 50)
  assert.equal(fifty.more?.split(';')[0], `${60 - fifty.tools.length} more: continue with nextCursor`)
  assert.ok(fifty.tools.length > 10 && fifty.tools.length < 50, `${fifty.tools.length} lines`)
  assert.ok((fixture.seen.served.discovery ?? 0) + (fixture.seen.served.schema ?? 0) <= 2 * 1200)
})

test('results after the first three are short: path, a few words and relevance', async () => {
  const description = 'Create an issue in a repository, with a title, labels and people who are to look at it'
  const inputSchema = { type: 'object' as const }
  const tools = Array.from({ length: 6 }, (_, i) => ({ name: `create_issue_${i}`, description, inputSchema }))
  const answer = await discover(createFixture({ forge: { offers: { tools } } }), 'create issue')
  const fields = answer.tools.map(tool => Object.keys(tool).filter(key => key !== 'input_schema'))
  const short = ['tool_path', 'description', 'relevance_score']
  assert.deepEqual(fields[2], ['tool_path', 'description', 'server_name', 'transport', 'relevance_score'])
  assert.deepEqual(fields.slice(3), [short, short, short])
  assert.ok(answer.tools.slice(3).every(tool => tool.description.length <= 60))
})

test('the limit is 10 where none is given, and kept within 1 and 50', async () => {
  const tools = Array.from({ length: 60 }, (_, i) => ({
    name: `x${i}`,
    description: 'issue',
    inputSchema: {},
  }))
  const fixture = createFixture(
    { a: { offers: { tools } } },
    { budget: { definitionTokens: 1, activeTools: 1, responseTokens: 90_000 } },
  )
  const count = async (limit?: unknown) => (await discover(fixture, 'issue', limit)).tools.length
  assert.deepEqual(
    [await count(), await count(3), await count('3'), await count(0), await count(1000)],
    [10, 3, 3, 1, 50],
  )
})

test('an array of queries is answered interleaved, without repeating a tool', async () => {
  const fixture = createFixture(SERVERS)
  const single = [await discover(fixture, 'create issue'), await discover(fixture, 'wiki search')]
  const { tools, query, total_found } = await discover(fixture, ['create issue', 'wiki search'])
  const paths = tools.map(tool => tool.tool_path)
  assert.deepEqual(query, ['create issue', 'wiki search'])
  assert.deepEqual(paths.slice(0, 2), [single[0]?.tools[0]?.tool_path, single[1]?.tools[0]?.tool_path])
  assert.equal(new Set(paths).size, paths.length)
  assert.ok(total_found >= tools.filter(({ weak }) => !weak).length)
  const schemas = (await discover(fixture, ['forge:create_issue', 'wiki:search'])).tools.map(
    tool => tool.input_schema,
  )
  assert.ok(schemas.every(Boolean) && schemas.length === 2)
})

test('a strong match is not marked weak, and no match is marked with weak: false', async () => {
  const fixture = createFixture(SERVERS)
  const strong = await discover(fixture, 'create_issue')
  assert.equal('weak' in (strong.tools[0] ?? {}), false)
  assert.ok(strong.tools.every(({ weak }) => weak === undefined || weak === true))
})

test('a search without results returns an empty list, the total 0, and advice', async () => {
  const { search_time_ms, ...answer } = await discover(createFixture(SERVERS), 'zzqqxx')
  assert.ok(search_time_ms >= 0)
  assert.deepEqual(answer, { tools: [], total_found: 0, query: 'zzqqxx', more: NOTHING_FITS })
})

test('prompts and resources that match well are included', async () => {
  const { prompts, resources } = await discover(createFixture(SERVERS), 'forge triage new issues')
  assert.deepEqual(prompts, [
    { prompt_path: 'forge:triage', description: 'Sort the new issues', arguments: ['repository', 'since?'] },
  ])
  assert.equal(resources, undefined)
  const found = await discover(createFixture(SERVERS), 'forge readme')
  assert.deepEqual(found.resources?.[0], {
    uri: 'forge|file:///readme.md',
    name: 'readme',
    description: 'Where to begin',
    mimeType: 'text/markdown',
  })
})

test('tools of a hidden server are not found, and their exact paths return its state', async () => {
  const hidden = {
    state: 'failed',
    reason: 'CrashLooping',
    message: 'connect ECONNREFUSED http://10.0.0.7:3000/mcp',
    hidden: true,
  } as const
  const fixture = createFixture({ ...SERVERS, forge: { ...forge, server: { status: hidden } } })
  const { tools, prompts } = await discover(fixture, 'create issue')
  assert.ok(tools.every(tool => tool.server_name === 'wiki'))
  assert.equal(prompts, undefined)
  for (const query of [
    'forge:create_issue',
    'forge__create_issue',
    'forge:unheard_of',
    'forge__unheard_of',
  ]) {
    const refused = await fixture.call('discover_mcp_tools', { query })
    assert.equal(refused.isError, true)
    assert.match(refused.content[0]?.text ?? '', /"forge" is down \(CrashLooping: it ends again and again\)/)
    assert.deepEqual(
      [fixture.seen.calls.at(-1)?.server, fixture.seen.calls.at(-1)?.outcome],
      ['forge', 'unavailable'],
    )
  }
  await discover(fixture, 'forge')
})

test('the error for a path of a server whose tools are not known says the state of the server', async () => {
  const states = {
    suspended: /switched off/,
    notAccepted: /not in use/,
    authRequired: /needs credentials/,
    starting: /is starting and its tools are not known yet/,
    asleep: /is asleep, but its tools are not known yet/,
  } as const
  for (const [state, sentence] of Object.entries(states)) {
    const status = { state: state as keyof typeof states, hidden: state !== 'starting' && state !== 'asleep' }
    const fixture = createFixture({ ...SERVERS, mail: { server: { status } } })
    for (const query of ['mail:send', 'mail__send']) {
      const refused = await fixture.call('discover_mcp_tools', { query })
      assert.equal(refused.isError, true)
      assert.match(refused.content[0]?.text ?? '', sentence)
    }
  }
})

test('tools of starting and sleeping servers are found', async () => {
  for (const state of ['starting', 'asleep'] as const) {
    const fixture = createFixture({ forge: { ...forge, server: { status: { state, hidden: false } } } })
    assert.equal((await discover(fixture, 'create issue')).tools[0]?.tool_path, 'forge:create_issue')
  }
})

test('denied tools are not found, and overrides replace descriptions', async () => {
  const policy = {
    allow: ['*issue*'],
    deny: ['list_*'],
    overrides: { create_issue: { description: 'Report a bug', keywords: ['complain'], category: 'tickets' } },
  }
  const fixture = createFixture({ forge: { ...forge, server: { tools: policy } } })
  assert.equal(fixture.catalog().totals.tools, 1)
  for (const query of ['report bug', 'complain', 'tickets'])
    assert.equal((await discover(fixture, query)).tools[0]?.description, 'Report a bug', query)
  assert.deepEqual(
    (await discover(fixture, 'delete repository')).tools.filter(
      tool => tool.tool_path !== 'forge:create_issue',
    ),
    [],
  )
})

test('the error for a missing query or an invalid limit says so', async () => {
  const fixture = createFixture(SERVERS)
  for (const args of [
    {},
    { query: '' },
    { query: 7 },
    { query: [] },
    { query: ['a', 7] },
    { query: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k'] },
  ]) {
    const answer = await fixture.call('discover_mcp_tools', args)
    assert.equal(answer.isError, true)
    assert.match(answer.content[0]?.text ?? '', /query is missing/)
  }
  for (const limit of ['many', true, [], {}])
    assert.match(
      (await fixture.call('discover_mcp_tools', { query: 'a', limit })).content[0]?.text ?? '',
      /limit is no number/,
    )
  assert.ok((fixture.seen.served.error ?? 0) > 0)
})

async function discover(fixture: Fixture, query: string | string[], limit?: unknown): Promise<Answer> {
  const args = limit === undefined ? { query } : { query, limit: limit as number }
  const answer = await fixture.call('discover_mcp_tools', args)
  assert.equal(answer.isError, undefined, answer.content[0]?.text)
  return JSON.parse(answer.content[0]?.text ?? '')
}
