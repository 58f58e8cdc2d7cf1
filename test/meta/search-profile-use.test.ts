/** What the search profile's tools besides mcp_search_tools take and answer, field by field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { asking } from './asking.ts'
import type { Fixture } from './fixture.ts'
import { forge, ISSUE_SCHEMA, SERVERS, wiki } from './servers.ts'

type Line = { toolName: string; description: string; serverName: string; serverId: string }
type Answer = { tools: Line[]; totalCount: number; returnedCount: number; more?: string }

const { start, ask, read, refusal } = asking('search')

const search = (fixture: Fixture, args: JsonObject, name = 'mcp_search_tools'): Promise<Answer> =>
  read(fixture, name, args)

/** Server and own name of each. */
const namesOf = ({ tools }: Answer): string[] => tools.map(tool => `${tool.serverId}/${tool.toolName}`)

test('servers are listed with tool counts and states, without hidden ones', async () => {
  const fixture = start({
    ...SERVERS,
    late: { server: { status: { state: 'starting', hidden: false } } },
    broken: { server: { status: { state: 'failed', hidden: true } }, offers: { tools: [] } },
  })
  const { content } = await ask(fixture, 'mcp_list_servers', {})
  assert.deepEqual(JSON.parse(content[0]?.text ?? ''), {
    servers: [
      { serverId: 'forge', serverName: 'Forge', toolCount: 4, state: 'ready' },
      { serverId: 'late', serverName: 'late', toolCount: 0, state: 'starting' },
      { serverId: 'wiki', serverName: 'Wiki', toolCount: 3, state: 'ready' },
    ],
  })
  const found = await ask(fixture, 'mcp_list_servers', { query: 'Repositories DEVOPS' })
  assert.deepEqual(
    JSON.parse(found.content[0]?.text ?? '').servers.map(({ serverId }: Line) => serverId),
    ['forge'],
  )
  assert.match(await refusal(fixture, 'mcp_list_servers', { query: 7 }), /query is no text/)
})

test('servers that do not fit are counted', async () => {
  const names = Array.from({ length: 200 }, (_, at) => `server-number-${at}`)
  const fixture = start(Object.fromEntries(names.map(name => [name, {}])))
  const { content } = await ask(fixture, 'mcp_list_servers', {})
  const { servers, more } = JSON.parse(content[0]?.text ?? '')
  assert.ok(servers.length > 20 && servers.length < 100)
  assert.equal(more, `${200 - servers.length} more servers: give a query, or search the tools.`)
})

test('a regular expression matches every form of the name, and descriptions after names', async () => {
  const fixture = start()
  const find = async (query: string, limit?: number) =>
    await search(fixture, { query, ...(limit && { limit }) }, 'mcp_search_tool_regex')
  assert.deepEqual(namesOf(await find('^CREATE_')), ['forge/create_issue'])
  assert.deepEqual(namesOf(await find('^forge__(list|create)_')), ['forge/create_issue', 'forge/list_issues'])
  assert.deepEqual(namesOf(await find('wiki:list')), ['wiki/list_issues'])
  assert.deepEqual(namesOf(await find('for good$')), ['forge/delete_repository'])
  assert.deepEqual(namesOf(await find('search|knows every')), ['wiki/search'])
  const few = await find('issue', 2)
  assert.deepEqual(
    [few.totalCount, few.returnedCount, few.more],
    [4, 2, '2 more: raise limit, or make the pattern narrower.'],
  )
  assert.deepEqual(Object.keys(few.tools[0] ?? {}), ['toolName', 'description', 'serverName', 'serverId'])
})

test('the error for a pattern that is not valid, or would cost too much, says so', async () => {
  const fixture = start()
  for (const [query, sentence] of [
    ['(', /not valid: .*RE2: no lookaround/],
    ['(?=x)', /not valid/],
    ['(a)\\1', /not valid/],
    ['', /query is missing/],
    ['x'.repeat(300), /too long: at most 256/],
    ['(.{0,200}){5}z', /too large once/],
    ['(((a{1,100}){1,100}){1,100})', /too large|not valid/],
    [`${'('.repeat(120)}a${')'.repeat(120)}`, /too many groups/],
  ] as const)
    assert.match(await refusal(fixture, 'mcp_search_tool_regex', { query }), sentence)
})

test('the schema of a tool is found by its name, and with its server if several have that name', async () => {
  const fixture = start()
  const get = async (args: JsonObject) =>
    JSON.parse((await ask(fixture, 'mcp_get_tool_schema', args)).content[0]?.text ?? '')
  const expected = {
    toolName: 'create_issue',
    serverId: 'forge',
    description: 'Create an issue in a repository',
    inputSchema: ISSUE_SCHEMA,
  }
  for (const args of [
    { toolName: 'create_issue' },
    { toolName: 'create_issue', serverId: 'forge' },
    { toolName: 'forge__create_issue' },
    { toolName: 'forge:create_issue', serverId: 'forge' },
  ])
    assert.deepEqual(await get(args), expected)
  assert.equal((await get({ toolName: 'list_issues', serverId: 'wiki' })).serverId, 'wiki')
  assert.ok((fixture.seen.served.schema ?? 0) > 0)
  assert.equal(
    await refusal(fixture, 'mcp_get_tool_schema', { toolName: 'list_issues' }),
    '"list_issues" is a tool of several servers: forge:list_issues, wiki:list_issues. Give its serverId too.',
  )
  assert.match(await refusal(fixture, 'mcp_get_tool_schema', {}), /toolName is missing/)
  assert.match(
    await refusal(fixture, 'mcp_get_tool_schema', { toolName: 'create_issue', serverId: 'wiki' }),
    /There is no tool "wiki:create_issue"/,
  )
  assert.match(
    await refusal(fixture, 'mcp_get_tool_schema', { toolName: 'forge:triage' }),
    /is a prompt: get it with mcp_execute_tool/,
  )
})

test('a schema over the budget is shown folded, and any part of it in full', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 80 }, (_, at) => [
      `field_${at}`,
      { type: 'string', description: 'A field that means something '.repeat(5) },
    ]),
  )
  const inputSchema = { type: 'object', properties, required: ['field_7'] }
  const fixture = start({ big: { offers: { tools: [{ name: 'write', inputSchema }] } } })
  const { content } = await ask(fixture, 'mcp_get_tool_schema', { toolName: 'write' })
  const folded = JSON.parse(content[0]?.text ?? '')
  assert.deepEqual(Object.keys(folded), ['toolName', 'serverId', 'description', 'inputSchema', 'more'])
  assert.match(folded.more, /folded/)
  assert.ok(folded.inputSchema.properties.field_7)
  const part = await ask(fixture, 'mcp_get_tool_schema', { toolName: 'write#/properties/field_7' })
  assert.deepEqual(JSON.parse(part.content[0]?.text ?? '').inputSchema, properties.field_7)
  assert.match(
    await refusal(fixture, 'mcp_get_tool_schema', { toolName: 'write#/properties/nothing' }),
    /There is no part .* It has: field_0/,
  )
})

test('mcp_execute_tool calls a tool by name and server, fetches a prompt, and reads a resource', async () => {
  const fixture = start()
  const sentBy = async (args: JsonObject) => {
    const { isError, content } = await ask(fixture, 'mcp_execute_tool', args)
    assert.equal(isError, undefined, content[0]?.text)
    const last = fixture.sent.at(-1)
    return [last?.server, last?.call.method, last?.call.params?.name ?? last?.call.params?.uri]
  }
  const args = { repository: 'a/b', title: 'Broken' }
  for (const toolName of ['create_issue', 'forge__create_issue', 'forge:create_issue'])
    assert.deepEqual(await sentBy({ toolName, args }), ['forge', 'tools/call', 'create_issue'])
  assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, args)
  assert.deepEqual(await sentBy({ toolName: 'list_issues', serverId: 'wiki', args: {} }), [
    'wiki',
    'tools/call',
    'list_issues',
  ])
  assert.deepEqual(await sentBy({ toolName: 'forge:triage', args: { repository: 'a/b' } }), [
    'forge',
    'prompts/get',
    'triage',
  ])
  assert.deepEqual(await sentBy({ toolName: 'triage', serverId: 'forge', args: { repository: 'a/b' } }), [
    'forge',
    'prompts/get',
    'triage',
  ])
  assert.deepEqual(await sentBy({ toolName: 'forge|file:///readme.md' }), [
    'forge',
    'resources/read',
    'file:///readme.md',
  ])
  assert.deepEqual(await sentBy({ toolName: 'forge|file:///readme.md', serverId: 'forge' }), [
    'forge',
    'resources/read',
    'file:///readme.md',
  ])
  assert.match(await refusal(fixture, 'mcp_execute_tool', { toolName: '' }), /toolName is missing/)
  assert.match(
    await refusal(fixture, 'mcp_execute_tool', { toolName: 'list_issues' }),
    /several servers: .* Give its serverId too/,
  )
})

test('tools of a hidden server are in no answer, and errors for their exact names say why', async () => {
  const hidden = { state: 'failed', reason: 'CrashLooping', hidden: true } as const
  const fixture = start({ forge: { ...forge, server: { ...forge.server, status: hidden } }, wiki })
  for (const args of [{ query: 'issue' }, { operation: 'list' }, { query: '+issue' }])
    assert.ok((await search(fixture, args)).tools.every(({ serverId }) => serverId === 'wiki'))
  const found = await search(fixture, { query: 'create_issue|issues' }, 'mcp_search_tool_regex')
  assert.ok(found.tools.every(({ serverId }) => serverId === 'wiki'))
  for (const [name, args] of [
    ['mcp_search_tools', { query: 'forge:create_issue' }],
    ['mcp_search_tools', { query: 'select:forge:create_issue' }],
    ['mcp_search_tools', { query: 'issue', serverId: 'forge' }],
    ['mcp_get_tool_schema', { toolName: 'create_issue', serverId: 'forge' }],
    ['mcp_get_tool_schema', { toolName: 'forge__create_issue' }],
    ['mcp_execute_tool', { toolName: 'forge:create_issue' }],
  ] as const)
    assert.match(await refusal(fixture, name, args), /"forge" is down \(CrashLooping/)
  assert.deepEqual(fixture.sent, [])
})
