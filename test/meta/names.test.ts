/** Names of tools: every place accepts the same forms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { asking } from './asking.ts'
import { forge, ISSUE, SERVERS } from './servers.ts'

const NEARLY = ['forge_create_issue', 'forge/create_issue', 'Forge:Create_Issue', 'forge:createIssue']
const UNKNOWN = 'forge:craete_issue'

type Taking = { profile: Profile; name: string; args: (tool: string) => JsonObject }
const TAKING: Taking[] = [
  {
    profile: 'hierarchical',
    name: 'execute_mcp_tool',
    args: tool_path => ({ tool_path, arguments: ISSUE.arguments }),
  },
  { profile: 'search', name: 'mcp_search_tools', args: name => ({ query: `select:${name}` }) },
  { profile: 'search', name: 'mcp_get_tool_schema', args: toolName => ({ toolName }) },
  { profile: 'search', name: 'mcp_execute_tool', args: toolName => ({ toolName, args: ISSUE.arguments }) },
  { profile: 'registry', name: 'activate', args: tool => ({ tools: [tool] }) },
  { profile: 'registry', name: 'execute', args: tool => ({ tool, args: ISSUE.arguments }) },
]

for (const { profile, name, args } of TAKING)
  test(`${name} of the profile ${profile} accepts a nearly correct name, and suggests others for an unknown one`, async () => {
    const { start, ask, refusal } = asking(profile)
    const fixture = start()
    for (const nearly of NEARLY) {
      const { content, isError } = await ask(fixture, name, args(nearly))
      assert.equal(isError, undefined, content[0]?.text)
      assert.match(content[0]?.text ?? '', /create_issue/)
    }
    assert.match(
      await refusal(fixture, name, args(UNKNOWN)),
      /There is no tool "forge:craete_issue"\. The nearest: forge:create_issue, .* Or search with \w+\.$/,
    )
    assert.match(
      await refusal(fixture, name, args('forg:create_issue')),
      /There is no server "forg"\. The nearest: forge:create_issue\. Or search with \w+\.$/,
    )
  })

test('direct calls accept the same forms of names', async () => {
  const { start, ask, refusal } = asking('direct')
  const fixture = start()
  const { content } = await ask(fixture, 'forge_create_issue', ISSUE.arguments)
  assert.match(content.at(-1)?.text ?? '', /"forge_create_issue" was taken as forge:create_issue/)
  assert.match(await refusal(fixture, UNKNOWN, {}), /The nearest: forge:create_issue/)
})

test('names with serverId, and paths into a schema, may be nearly correct too', async () => {
  const search = asking('search')
  const fixture = search.start()
  const got = await search.read<JsonObject>(fixture, 'mcp_get_tool_schema', {
    toolName: 'List Issues',
    serverId: 'wiki',
  })
  assert.deepEqual([got.serverId, got.toolName], ['wiki', 'list_issues'])
  const picked = await search.read<{ tools: JsonObject[] }>(fixture, 'mcp_search_tools', {
    query: 'select:list-issues',
    serverId: 'wiki',
  })
  assert.deepEqual(
    picked.tools.map(({ serverId }) => serverId),
    ['wiki'],
  )
  const discovered = await asking('hierarchical').read<{ tools: JsonObject[] }>(
    asking('hierarchical').start(),
    'discover_mcp_tools',
    { query: 'forge_create_issue#/properties/title' },
  )
  assert.deepEqual(discovered.tools[0]?.input_schema, { type: 'string', description: 'One line' })
})

test('a name similar to several tools is refused; hidden tools do not count', async () => {
  const { start, ask, refusal } = asking('registry')
  const other = { offers: { tools: [{ name: 'Create-Issue', inputSchema: { type: 'object' } }] } }
  assert.match(
    await refusal(start({ forge, other }), 'execute', { tool: 'create issue' }),
    /no tool "create issue"/,
  )
  const hidden = { ...other, server: { status: { state: 'failed', hidden: true } as const } }
  const { isError } = await ask(start({ forge, hidden }), 'execute', {
    tool: 'create issue',
    args: ISSUE.arguments,
  })
  assert.equal(isError, undefined)
})

test('of tools with the same letters the exact name means its own, and another name none', async () => {
  const { start, ask, refusal } = asking('registry')
  const same = {
    offers: { tools: ['getIssue', 'get_issue'].map(name => ({ name, inputSchema: { type: 'object' } })) },
  }
  const fixture = start({ same })
  for (const tool of ['same:getIssue', 'same:get_issue']) {
    assert.equal((await ask(fixture, 'execute', { tool, args: {} })).isError, undefined)
    assert.equal(fixture.sent.at(-1)?.call.params?.name, tool.split(':')[1])
  }
  assert.match(
    await refusal(fixture, 'execute', { tool: 'same:GetIssue' }),
    /no tool "same:GetIssue"\. The nearest: same:get/,
  )
  const digits = start({ same: { offers: { tools: [{ name: 'v1_2', inputSchema: { type: 'object' } }] } } })
  assert.match(await refusal(digits, 'execute', { tool: 'same:v12' }), /no tool "same:v12"/)
  assert.equal((await ask(digits, 'execute', { tool: 'same:V1-2', args: {} })).isError, undefined)
})

test('execute accepts a nearly correct name of a prompt, unless a tool has it', async () => {
  const { start, ask } = asking('registry')
  const fixture = start()
  const args = { repository: 'a/b' }
  for (const tool of ['forge_triage', 'Forge:Triage', 'TRIAGE']) {
    const { content, isError } = await ask(fixture, 'execute', { tool, args })
    assert.equal(isError, undefined, content[0]?.text)
    assert.equal(fixture.sent.at(-1)?.call.method, 'prompts/get')
    assert.match(content.at(-1)?.text ?? '', /was taken as forge:triage/)
  }
  const tools = start({
    ...SERVERS,
    other: { offers: { tools: [{ name: 'Tri-Age', inputSchema: { type: 'object' } }] } },
  })
  await ask(tools, 'execute', { tool: 'TRIAGE', args })
  assert.equal(tools.sent.at(-1)?.call.params?.name, 'Tri-Age')
})

test('the error for an unknown server names the nearest servers, with a tool of that name if they have one', async () => {
  const { start, refusal } = asking('hierarchical')
  const fixture = start({ ...SERVERS, forget: {}, forget2: {}, forget3: {} })
  const refusalOf = (tool_path: string) => refusal(fixture, 'execute_mcp_tool', { tool_path })
  assert.match(await refusalOf('wikki:nothing'), /no server "wikki"\. The nearest: wiki\. Or search/)
  assert.match(
    await refusalOf('forget4:show_board'),
    /The nearest: forget\d?, forget\d?, forget\d?, forge:show_board\./,
  )
  assert.match(await refusalOf('forg__show_board'), /no server "forg"\. The nearest: .*forge:show_board/)
  assert.match(await refusalOf('zzz:show_board'), /no server "zzz"\. The nearest: forge:show_board\. Or/)
  assert.match(await refusalOf('zzz:nothing'), /no server "zzz"\. Search with discover_mcp_tools\.$/)
})
