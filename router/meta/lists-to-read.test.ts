/** The servers whose lists are read for a caller before its request is answered. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { drive, snapshotOf } from '../../test/meta/fixture.ts'
import { buildCatalog } from '../catalog/catalog.ts'
import { listsToRead } from './lists-to-read.ts'

const users = { max: 9, idleAfterMs: 1, ownLists: true } as const
const server = { sessions: 'perUser', users } as const
const offers = { tools: [{ name: 'get', inputSchema: { type: 'object' } }], prompts: [{ name: 'guide' }] }
const SERVERS = { own: { server, offers }, mine: { server, offers }, rest: { offers } }
const ALL = ['mine', 'own']

const gateway = (profile: Extract<McpRoute, { kind: 'gateway' }>['profile']): McpRoute => ({
  kind: 'gateway',
  profile,
})
const at = (name: string): McpRoute => ({ kind: 'server', server: name })
const [HIERARCHICAL, SEARCH, REGISTRY, DIRECT] = (
  ['hierarchical', 'search', 'registry', 'direct'] as const
).map(gateway) as [McpRoute, McpRoute, McpRoute, McpRoute]

function toRead(route: McpRoute, method: string, params = {}, config = {}) {
  const allowedProfiles = ['search', 'registry', 'direct'] as const
  const snapshot = snapshotOf(SERVERS, { allowedProfiles: [...allowedProfiles], ...config }, 1)
  return listsToRead(drive(buildCatalog(snapshot)), { route, method, params })?.toSorted()
}

for (const [what, route, method, params, expected] of [
  ['a method that is not served', HIERARCHICAL, 'nonsense/foo', {}, undefined],
  ['a method that is passed on', at('own'), 'nonsense/foo', {}, undefined],
  ['a list of meta-tools', HIERARCHICAL, 'tools/list', {}, undefined],
  ['a list with activated tools', REGISTRY, 'tools/list', {}, []],
  ['a list of all tools', DIRECT, 'tools/list', {}, ALL],
  ['a list of prompts', HIERARCHICAL, 'prompts/list', {}, ALL],
  ['a list of one server', at('own'), 'tools/list', {}, ['own']],
  ['a list of another server', at('rest'), 'tools/list', {}, undefined],
  ['a profile that is not allowed', gateway('code'), 'prompts/list', {}, undefined],
  ['a search', HIERARCHICAL, 'tools/call', { name: 'discover_mcp_tools' }, ALL],
  ['a call without a name', HIERARCHICAL, 'tools/call', {}, undefined],
  ['a tool', DIRECT, 'tools/call', { name: 'own__get' }, ['own']],
  ['a tool that only a user may have', DIRECT, 'tools/call', { name: 'own:payroll' }, ['own']],
  ['a tool of another server', HIERARCHICAL, 'tools/call', { name: 'rest__get' }, undefined],
  ['the same tool on a route that notifies of list changes', DIRECT, 'tools/call', { name: 'rest__get' }, []],
  ['a tool by its own name', DIRECT, 'tools/call', { name: 'payroll' }, ALL],
  ['a prompt', SEARCH, 'prompts/get', { name: 'rest:guide' }, undefined],
  ['a resource', DIRECT, 'resources/read', { uri: 'book://one' }, ALL],
  ['a subscription', at('mine'), 'resources/subscribe', {}, ['mine']],
] as const)
  test(`${what} needs ${expected?.join(' and ') || (expected ? 'the known lists' : 'no lists')}`, () => {
    assert.deepEqual(toRead(route, method, params), expected)
  })

for (const [route, name, args] of [
  [HIERARCHICAL, 'execute_mcp_tool', { tool_path: 'rest:get', arguments: {} }],
  [HIERARCHICAL, 'execute_mcp_tool', { prompt_path: 'rest:guide' }],
  [SEARCH, 'mcp_execute_tool', { toolName: 'rest:get' }],
  [SEARCH, 'mcp_execute_tool', { toolName: 'get', serverId: 'rest' }],
  [REGISTRY, 'execute', { tool: 'rest:get' }],
] as const)
  test(`a call with ${name} of ${JSON.stringify(args)} reads no lists of another server`, () => {
    assert.equal(toRead(route, 'tools/call', { name, arguments: args }), undefined)
    const other = JSON.parse(JSON.stringify(args).replaceAll('rest', 'own'))
    assert.deepEqual(toRead(route, 'tools/call', { name, arguments: other }), ['own'])
  })

test('if servers are not exposed one by one, no lists are read for their routes', () => {
  assert.equal(toRead(at('own'), 'tools/list', {}, { exposeServers: false }), undefined)
})
