/** How execute_mcp_tool handles arguments and names: unchanged, corrected with a note, or refused before the call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { createFixture } from './fixture.ts'
import { ISSUE, SERVERS } from './servers.ts'

test('tool paths, listed names and unambiguous bare names are accepted', async () => {
  const fixture = createFixture(SERVERS)
  for (const tool_path of ['forge:create_issue', 'forge__create_issue', 'create_issue', 'wiki:ページ:作成'])
    assert.equal(
      (await fixture.call('execute_mcp_tool', { ...ISSUE, tool_path })).isError,
      undefined,
      tool_path,
    )
  for (const name of ['forge:create_issue', 'forge__create_issue'])
    assert.equal((await fixture.call(name, ISSUE.arguments)).isError, undefined, name)
  assert.deepEqual(
    fixture.sent.map(({ call }) => call.params?.name),
    ['create_issue', 'create_issue', 'create_issue', 'ページ:作成', 'create_issue', 'create_issue'],
  )
})

test('arguments may be an object, its JSON text, or be next to the path, with a note if that was a mistake', async () => {
  const fixture = createFixture(SERVERS)
  const args = ISSUE.arguments
  const call = { tool_path: 'forge:create_issue', arguments: args }
  const given: [JsonObject, RegExp | undefined][] = [
    [call, undefined],
    [{ ...call, arguments: JSON.stringify(args) }, /sent as JSON text/],
    [{ tool_path: call.tool_path, ...args }, /beside the name/],
    [{ arguments: call }, /whole call stood inside/],
    [{ ...call, arguments: { arguments: args } }, /corrected: took the arguments out/],
    [{ ...call, arguments: call }, /corrected: took the arguments out/],
    [{ ...call, arguments: { ...args, title: 5 } }, /corrected: title: 5 became "5"/],
  ]
  for (const [asked, note] of given) {
    const { content } = await fixture.call('execute_mcp_tool', asked)
    assert.match(content[1]?.text ?? 'none', note ?? /none/)
  }
  assert.deepEqual(
    fixture.sent.map(({ call }) => call.params?.arguments),
    [args, args, args, args, args, args, { ...args, title: '5' }],
  )
  const { title, ...others } = args
  const split = await fixture.call('execute_mcp_tool', {
    ...call,
    arguments: others,
    title,
    server: 'forge',
  })
  assert.match(split.content[1]?.text ?? '', /beside the name/)
  assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, { ...others, title })
  for (const args of [[1], '[1]', '{broken', 7])
    assert.match(
      await refusalOf(fixture, { tool_path: 'forge:create_issue', arguments: args as never }),
      /arguments is no object/,
    )
  const nothing = await fixture.call('execute_mcp_tool', { tool_path: 'wiki:list_issues', arguments: null })
  assert.equal(nothing.content.length, 1)
  const repeated = { tool_path: 'wiki:list_issues', server_name: 'wiki', why: 'to see', arguments: {} }
  assert.equal((await fixture.call('execute_mcp_tool', repeated)).content.length, 1)
  assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, {})
})

test('a nearly correct path is accepted with a note if only one tool can be meant', async () => {
  const fixture = createFixture(SERVERS)
  for (const tool_path of [
    'forge/create_issue',
    'forge.create_issue',
    'Forge:Create_Issue',
    'forge:create-issue',
    'create_issue',
    ' forge:create_issue ',
  ]) {
    const { content } = await fixture.call('execute_mcp_tool', { ...ISSUE, tool_path })
    assert.match(content[1]?.text ?? '', /^Note: ".+" was taken as forge:create_issue; /, tool_path)
  }
  assert.match(await refusalOf(fixture, { tool_path: 'List_Issues' }), /There is no tool "List_Issues"/)
  assert.deepEqual(new Set(fixture.sent.map(({ call }) => call.params?.name)), new Set(['create_issue']))
})

test('arguments that do not fit are refused before the call, with what the schema wants and how to see it whole', async () => {
  const fixture = createFixture(SERVERS)
  const text = await refusalOf(fixture, { ...ISSUE, arguments: { repository: [], titel: 'x' } })
  assert.equal(
    text,
    [
      'The arguments do not fit the schema of forge:create_issue, so it was not called:',
      '- title: is missing; you gave "titel"; schema there: {"type":"string","description":"One line"}',
      '- repository: is [], must be string; schema there: {"type":"string","description":"As owner/name"}',
      'The whole schema: discover_mcp_tools with query "forge:create_issue".',
    ].join('\n'),
  )
  assert.deepEqual(fixture.sent, [])
  const { server, tool, outcome } = fixture.seen.calls[0] ?? assert.fail()
  assert.deepEqual([server, tool, outcome], ['forge', 'create_issue', 'rejected'])
  assert.equal(fixture.seen.served.error, estimateTokens(text))
})

test('a schema that cannot be compiled does not prevent calls', async () => {
  const inputSchema = { type: 'object', properties: { a: { $ref: '#/$defs/none' } } }
  const fixture = createFixture({ odd: { offers: { tools: [{ name: 'call', inputSchema }] } } })
  const { isError } = await fixture.call('execute_mcp_tool', { tool_path: 'odd:call', arguments: { a: 1 } })
  assert.equal(isError, undefined)
})

async function refusalOf(fixture: ReturnType<typeof createFixture>, args: JsonObject): Promise<string> {
  const { content, isError } = await fixture.call('execute_mcp_tool', args)
  assert.equal(isError, true)
  assert.equal(content.length, 1)
  return content[0]?.text ?? ''
}

test('a name under the key of another profile or of the protocol is accepted, with its server and a note', async () => {
  const fixture = createFixture(SERVERS, { allowedProfiles: ['search', 'registry'] })
  const args = ISSUE.arguments
  const given: [JsonObject, string][] = [
    [{ name: 'forge:create_issue', arguments: args }, 'name'],
    [{ tool: 'create_issue', server: 'forge', arguments: args }, 'tool'],
    [{ tool_name: 'create_issue', server_name: 'forge', arguments: args }, 'tool_name'],
    [{ toolName: 'forge:create_issue', serverId: 'forge', arguments: args }, 'toolName'],
  ]
  for (const [asked, key] of given) {
    const { content } = await fixture.call('execute_mcp_tool', asked)
    assert.equal(content[1]?.text, `Note: tool_path was given as ${key}.`)
  }
  for (const [profile, name] of [
    ['search', 'mcp_execute_tool'],
    ['registry', 'execute'],
  ] as const) {
    const route = { kind: 'gateway', profile } as const
    const { content } = await fixture.call(name, { tool_path: 'forge:create_issue', args }, { route })
    assert.match(content[1]?.text ?? '', /was given as tool_path/)
  }
  assert.deepEqual(
    fixture.sent.map(({ call }) => [call.params?.name, call.params?.arguments]),
    Array.from({ length: 6 }, () => ['create_issue', args]),
  )
})
