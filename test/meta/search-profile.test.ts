/** What mcp_search_tools takes and answers, field by field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { asking } from './asking.ts'
import { type Fixture, golden } from './fixture.ts'
import { forge, SERVERS } from './servers.ts'

type Line = {
  toolName: string
  description: string
  serverName: string
  serverId: string
  weak?: boolean
}
type Answer = {
  tools: Line[]
  totalCount: number
  returnedCount: number
  nextCursor: string | null
  notFound?: string[]
  resources?: JsonObject[]
  prompts?: JsonObject[]
  more?: string
}

const { route, start, read, refusal } = asking('search')

const search = (fixture: Fixture, args: JsonObject, name = 'mcp_search_tools'): Promise<Answer> =>
  read(fixture, name, args)

/** Server and own name of each. */
const namesOf = ({ tools }: Answer): string[] => tools.map(tool => `${tool.serverId}/${tool.toolName}`)

test('the five tools are listed as they are documented', async t => {
  const { result } = await start().request('tools/list', {}, { route })
  t.assert.fileSnapshot(JSON.stringify(result, null, 2), golden('tools-list-search.json'), {
    serializers: [String],
  })
})

test('a search answers the documented fields', async () => {
  const fixture = start()
  const answer = await search(fixture, { query: 'forge create issue', limit: 1 })
  assert.deepEqual(answer.tools, [
    {
      toolName: 'create_issue',
      description: 'Create an issue in a repository',
      serverName: 'Forge',
      serverId: 'forge',
    },
  ])
  const { returnedCount, nextCursor, totalCount } = answer
  assert.deepEqual([returnedCount, typeof nextCursor], [1, 'string'])
  assert.ok(totalCount >= 2)
  assert.deepEqual(Object.keys(answer).slice(0, 4), ['tools', 'totalCount', 'returnedCount', 'nextCursor'])
  assert.ok((fixture.seen.served.discovery ?? 0) > 0 && fixture.seen.searches.length === 1)
})

test('a server without a title is shown with its name', async () => {
  const fixture = start({ forge: { ...forge, server: {} } })
  assert.equal((await search(fixture, { query: 'create issue' })).tools[0]?.serverName, 'forge')
})

test('pages of a search join to the whole, without repeating a tool', async () => {
  const fixture = start()
  const seen: string[] = []
  let cursor: string | null = null
  let total = 0
  do {
    const page: Answer = await search(fixture, { query: 'issue', limit: 1, cursor })
    assert.equal(page.returnedCount, page.tools.length)
    seen.push(...namesOf(page))
    total = page.totalCount
    cursor = page.nextCursor
  } while (cursor)
  assert.ok(seen.length >= total)
  assert.equal(new Set(seen).size, seen.length)
})

test('several queries are answered in turn, without repeating a tool', async () => {
  const answer = await search(start(), { query: ['create issue', 'select:search', 'forge create issue'] })
  assert.deepEqual(namesOf(answer).slice(0, 2), ['forge/create_issue', 'wiki/search'])
  assert.equal(new Set(namesOf(answer)).size, answer.tools.length)
})

test('select accepts every form of a name, also within a server, and lists what it did not find', async () => {
  const fixture = start()
  const pick = async (query: string, more: JsonObject = {}) =>
    namesOf(await search(fixture, { query, ...more }))
  assert.deepEqual(await pick('select:create_issue'), ['forge/create_issue'])
  assert.deepEqual(await pick('SELECT: forge__create_issue , wiki:search'), [
    'forge/create_issue',
    'wiki/search',
  ])
  assert.deepEqual(await pick('select:list_issues'), ['forge/list_issues', 'wiki/list_issues'])
  assert.deepEqual(await pick('select:list_issues', { serverId: 'wiki' }), ['wiki/list_issues'])
  assert.deepEqual(await pick('select:list_issues', { serverName: 'FOR' }), ['forge/list_issues'])
  assert.deepEqual(await pick('select:ページ:作成', { serverId: 'wiki' }), ['wiki/ページ:作成'])
  const some = await search(fixture, { query: 'select:search,create_isue' })
  assert.deepEqual([namesOf(some), some.notFound], [['wiki/search'], ['create_isue']])
  assert.match(
    await refusal(fixture, 'mcp_search_tools', { query: 'select:create_isue' }),
    /There is no tool "create_isue"\. The nearest: forge:create_issue.* Or search with mcp_search_tools\./,
  )
})

test('a word with a plus must occur in name, description or server', async () => {
  const fixture = start()
  const wanted = async (query: string) => namesOf(await search(fixture, { query }))
  assert.deepEqual(await wanted('+wiki issues'), ['wiki/list_issues', 'wiki/search', 'wiki/ページ:作成'])
  assert.equal(
    (await wanted('+for good'))[0],
    'forge/delete_repository',
    'ranked among the tools that have the word',
  )
  assert.deepEqual(await wanted('+ZZZ issue'), [])
  assert.deepEqual(await wanted('+Create +issu'), ['forge/create_issue'])
  const all = await search(fixture, { query: '+issue', limit: 2 })
  assert.deepEqual([all.totalCount, all.returnedCount], [4, 2])
})

test('serverId is exact, serverName a fragment in any case', async () => {
  const fixture = start()
  const servers = async (args: JsonObject) =>
    new Set((await search(fixture, { query: 'issue', ...args })).tools.map(({ serverId }) => serverId))
  assert.deepEqual(await servers({ serverId: 'wiki' }), new Set(['wiki']))
  assert.deepEqual(await servers({ serverName: 'IK' }), new Set(['wiki']))
  assert.deepEqual(await servers({}), new Set(['forge', 'wiki']))
  assert.match(
    await refusal(fixture, 'mcp_search_tools', { query: 'issue', serverId: 'wik' }),
    /There is no server "wik"\. The nearest: wiki/,
  )
  assert.equal(
    await refusal(fixture, 'mcp_search_tools', { query: 'issue', serverId: 'zzz' }),
    'There is no server "zzz". mcp_list_servers lists the servers.',
  )
})

test('serverName selects what mcp_list_servers finds, and the answer says if that is nothing', async () => {
  const hidden = { state: 'suspended', hidden: true } as const
  const fixture = start({ ...SERVERS, mail: { server: { title: 'Letters', status: hidden } } })
  const servers = async (serverName: string) =>
    new Set((await search(fixture, { query: 'issue', serverName })).tools.map(({ serverId }) => serverId))
  assert.deepEqual(await servers('repositories AND'), new Set(['forge']), 'by its description')
  assert.deepEqual(await servers('devops'), new Set(['forge']), 'by its category')
  const refusalOf = (args: JsonObject) => refusal(fixture, 'mcp_search_tools', { query: 'issue', ...args })
  assert.match(await refusalOf({ serverName: 'wikki' }), /There is no server "wikki"\. The nearest: wiki/)
  assert.match(await refusalOf({ serverName: 'letters' }), /"mail" is switched off/)
  assert.match(
    await refusalOf({ serverName: 'wiki', serverId: 'forge' }),
    /Server "forge" is not called "wiki"/,
  )
  assert.deepEqual(
    namesOf(
      await search(fixture, { query: 'create issue', serverName: 'forge', serverId: 'forge', limit: 1 }),
    ),
    ['forge/create_issue'],
  )
})

test('a list with a query contains the tools with all its words, or all tools if there are none', async () => {
  const fixture = start()
  const list = (args: JsonObject) => search(fixture, { operation: 'list', ...args })
  assert.deepEqual(namesOf(await list({ query: 'issue list' })), ['forge/list_issues', 'wiki/list_issues'])
  assert.deepEqual(namesOf(await list({ query: ['board', 'delete'] })), [
    'forge/delete_repository',
    'forge/show_board',
  ])
  assert.deepEqual(namesOf(await list({ query: 'select:search' })), ['wiki/search'])
  for (const [query, more] of [
    ['all the tools', /No tool holds the words of the query: all are listed/],
    ['*', undefined],
  ] as const) {
    const { totalCount, tools, more: note } = await list({ query, serverId: 'wiki' })
    assert.deepEqual([totalCount, tools.length], [3, 3], query)
    if (more) assert.match(note ?? '', more)
    else assert.equal(note, undefined)
  }
  assert.equal((await list({ query: '+zzz' })).totalCount, 0, 'required words stay required')
})

test('list pages through the tools of a server, counting all of them', async () => {
  const tools = Array.from({ length: 25 }, (_, at) => ({
    name: `tool_${String(at).padStart(2, '0')}`,
    description: 'x '.repeat(400),
    inputSchema: {},
  }))
  const fixture = start({ ...SERVERS, big: { offers: { tools } } })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Answer = await search(fixture, { operation: 'list', serverId: 'big', cursor, limit: 10 })
    assert.equal(page.totalCount, 25)
    assert.ok(page.returnedCount <= 10 && page.tools.every(({ description }) => description.length <= 100))
    seen.push(...page.tools.map(({ toolName }) => toolName))
    cursor = page.nextCursor
  } while (cursor)
  assert.deepEqual(
    seen,
    tools.map(({ name }) => name),
  )
  assert.equal((await search(fixture, { serverId: 'big' })).totalCount, 25, 'no query: the list')
  assert.equal((await search(fixture, { operation: 'list' })).totalCount, 32)
  assert.equal((await search(fixture, { operation: 'list', query: '+tool_07' })).totalCount, 1)
})

test('the error for invalid arguments says what to give', async () => {
  const fixture = start()
  for (const [args, sentence] of [
    [{}, /query is missing/],
    [{ query: 7 }, /query is missing/],
    [{ query: 7, serverId: 'wiki' }, /query is missing/],
    [{ query: Array(11).fill('a'), operation: 'list' }, /query is missing: .* up to 10/],
    [{ query: 'a', operation: 'count' }, /operation is "search" or "list"/],
    [{ serverId: 'wiki', operation: 'count' }, /operation is "search" or "list"/],
    [{ query: 'a', limit: 'many' }, /limit is no number/],
    [{ query: 'a', serverId: 7 }, /serverId is no text/],
    [{ operation: 'list', cursor: 'zzz' }, /cursor is not valid/],
  ] as const)
    assert.match(await refusal(fixture, 'mcp_search_tools', args), sentence)
})

test('a cursor is valid only for its own query and servers', async () => {
  const fixture = start()
  const { nextCursor: found } = await search(fixture, { query: 'issue', limit: 1 })
  const { nextCursor: listed } = await search(fixture, { operation: 'list', limit: 1 })
  for (const args of [
    { cursor: found },
    { operation: 'list', cursor: found },
    { query: 'issue', cursor: listed },
    { query: 'board', cursor: found },
    { query: 'issue', serverId: 'forge', cursor: found },
    { operation: 'list', serverId: 'wiki', cursor: listed },
    { operation: 'list', query: 'issue', cursor: listed },
  ])
    assert.match(await refusal(fixture, 'mcp_search_tools', args), /cursor is not valid here/)
  assert.equal(
    (await search(fixture, { cursor: listed, limit: 50 })).returnedCount,
    6,
    'the rest of the list',
  )
})

test('a search that cannot be paged to its end says so', async () => {
  const tools = Array.from({ length: 230 }, (_, at) => ({ name: `alpha_${at}`, inputSchema: {} }))
  const fixture = start({ big: { offers: { tools } } }, { responseTokens: 20_000 })
  const all = tools.map(({ name }) => name)
  for (const query of ['alpha', `select:${all.join(',')}`]) {
    let seen = 0
    let page = await search(fixture, { query, limit: 50 })
    for (; page.nextCursor; page = await search(fixture, { query, limit: 50, cursor: page.nextCursor })) {
      assert.equal(page.more, undefined)
      seen += page.returnedCount
    }
    assert.deepEqual([seen + page.returnedCount, page.totalCount], [200, 230], query.slice(0, 10))
    assert.match(page.more ?? '', /best 200: narrow the query/)
  }
})

test('prompts and resources that match well are included, with the name by which they are fetched', async () => {
  const fixture = start()
  const answer = await search(fixture, { query: 'forge triage new issues' })
  assert.deepEqual(answer.prompts, [
    { prompt_path: 'forge:triage', description: 'Sort the new issues', arguments: ['repository', 'since?'] },
  ])
  assert.equal((await search(fixture, { query: 'triage', serverId: 'wiki' })).prompts, undefined)
  const { resources } = await search(fixture, { query: 'forge readme' })
  assert.equal(resources?.[0]?.uri, 'forge|file:///readme.md')
})

test('weak hits after the fifth are shown only with a limit, a cursor or a required word', async () => {
  const others = Array.from({ length: 12 }, (_, i) => ({
    name: `x${i}`,
    description: 'about a workout',
    inputSchema: {},
  }))
  const tools = [{ name: 'log_workout', description: 'Logs a workout', inputSchema: {} }, ...others]
  const fixture = start({ gym: { offers: { tools } } })
  const usual = await search(fixture, { query: 'log workout' })
  assert.deepEqual(
    usual.tools.map(({ weak }) => weak),
    [undefined, true, true, true, true],
  )
  assert.equal((await search(fixture, { query: 'log workout', limit: 9 })).tools.length, 9)
  assert.equal((await search(fixture, { query: 'log +workout' })).tools.length, 10)
  const next = await search(fixture, { query: 'log workout', cursor: usual.nextCursor })
  assert.equal(next.tools.length, 8)
})
