/** Tools that a server offers only to its user interfaces (MCP Apps): kept from agents, and called by clients as before. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import { codeOf } from '../code/script-gateway.ts'
import { createFixture, serverOf } from './fixture.ts'

const tool = (name: string, description: string, visibility?: unknown): ToolDefinition => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
  ...(visibility !== undefined && { _meta: { ui: { visibility: visibility as string[] } } }),
})
const tools = [
  tool('save_bytes', 'Save the bytes of a document', ['app']),
  tool('save_copy', 'Save a copy of a document', ['model']),
  tool('save_document', 'Save a document', ['model', 'app']),
  tool('save_empty', 'Save an empty document', []),
  tool('save_odd', 'Save an odd document', 'app'),
  tool('save_plain', 'Save a plain document'),
]
const fixture = createFixture(
  { pdf: { offers: { tools } }, other: { offers: { tools: [tool('unlike', 'Says hello')] } } },
  { allowedProfiles: ['search', 'registry', 'direct', 'code'], code: codeOf() },
)
after(() => fixture.scripts.close())

const REQUESTS: [Profile, string, Record<string, string>][] = [
  ['hierarchical', 'discover_mcp_tools', { query: 'save document' }],
  ['search', 'mcp_search_tools', { query: 'save document' }],
  ['search', 'mcp_search_tools', { query: '+save document' }],
  ['search', 'mcp_search_tools', { operation: 'list', serverId: 'pdf' }],
  ['search', 'mcp_search_tool_regex', { query: 'save_.*' }],
  ['registry', 'discover', { query: 'save document', limit: '9' }],
  ['registry', 'discover', { category: 'pdf', limit: '9' }],
  ['code', 'find_tools', { query: 'save document' }],
]

for (const [profile, name, args] of REQUESTS)
  test(`${profile}: ${name} with ${JSON.stringify(args)} finds no tool that is for apps alone`, async () => {
    const { content } = await fixture.call(name, args, { route: { kind: 'gateway', profile } })
    const found = new Set(content[0]?.text.match(/save_\w+/g))
    assert.deepEqual([...found].sort(), [
      'save_copy',
      'save_document',
      'save_empty',
      'save_odd',
      'save_plain',
    ])
  })

test('the names suggested for a wrong one do not include such a tool', async () => {
  const { content } = await fixture.call('execute_mcp_tool', { tool_path: 'pdf:save_bytez' })
  assert.doesNotMatch(content[0]?.text ?? '', /save_bytes/)
})

test('clients list such a tool in the profile direct, and call it by its name in every profile', async () => {
  const direct = { route: { kind: 'gateway', profile: 'direct' } } as const
  const list = await fixture.request('tools/list', {}, direct)
  assert.match(JSON.stringify(list.result), /pdf__save_bytes/)
  for (const profile of ['hierarchical', 'search', 'registry', 'direct'] as const) {
    const answer = await fixture.call('pdf__save_bytes', {}, { route: { kind: 'gateway', profile } })
    assert.match(answer.content[0]?.text ?? '', /"name":"save_bytes"/)
  }
})

test('a hidden server stays hidden beside such tools', () => {
  const hidden = createFixture({
    pdf: { offers: { tools } },
    gone: { server: serverOf('gone', { status: { state: 'failed', hidden: true } }), offers: { tools } },
  }).catalog()
  const shown = hidden.tools.filter((_tool, at) => hidden.shown?.(at) ?? true)
  assert.deepEqual([...new Set(shown.map(({ server }) => server))], ['pdf'])
  assert.equal(shown.length, tools.length - 1)
})
