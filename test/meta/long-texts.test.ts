/** Texts of clients and servers that are made to take long: each is handled in linear time, where quadratic time would be minutes. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { splitIdentifier } from '../../core/catalog/identifiers.ts'
import type { ToolDefinition } from '../../core/catalog/server-catalog.ts'
import type { JsonObject } from '../../core/json.ts'
import { scriptsOf } from '../../core/packages/pypi-digest.ts'
import { codeOf } from '../code/script-gateway.ts'
import { cpuMs } from '../support/cpu-time.ts'
import { createFixture } from './fixture.ts'
import { SERVERS } from './servers.ts'

const MAX_MS = 1_000

const parameters = Array.from({ length: 60 }, (_, at) => `p${at}`)
const tools: ToolDefinition[] = [
  {
    name: 'count',
    description: 'Count',
    inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
  },
  { name: 'long', title: 'A'.repeat(250_000), description: 'Long title', inputSchema: { type: 'object' } },
  {
    name: 'many',
    description: 'Many parameters',
    inputSchema: {
      type: 'object',
      required: parameters,
      properties: Object.fromEntries(
        parameters.map(name => [name, { type: 'string', description: 'a'.repeat(4_000) }]),
      ),
    },
  },
]
const fixture = createFixture(
  { ...SERVERS, rude: { offers: { tools } } },
  { allowedProfiles: ['search', 'registry', 'code'], code: codeOf() },
)
after(() => fixture.scripts.close())

async function within<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  const begun = cpuMs()
  const done = await work()
  assert.ok(cpuMs() - begun < MAX_MS, `${what}: ${cpuMs() - begun} ms`)
  return done
}

test('arguments that look a little like numbers', async () => {
  const args = { tool_path: 'rude:count', arguments: { n: `${'e'.repeat(200_000)}\nx` } }
  const { isError } = await within('call', () => fixture.call('execute_mcp_tool', args))
  assert.equal(isError, true)
})

test('titles of capitals', async () => {
  await within('split', () => splitIdentifier('A'.repeat(250_000)))
  assert.equal(splitIdentifier('parseHTTPServerURL'), 'parse HTTP Server URL')
  await within('build', () => createFixture({ rude: { offers: { tools } } }))
})

test('descriptions of required parameters that are one word', async () => {
  const query = 'many parameters'
  for (const [name, profile] of [
    ['discover_mcp_tools', 'hierarchical'],
    ['mcp_search_tools', 'search'],
    ['discover', 'registry'],
    ['find_tools', 'code'],
  ] as const)
    await within(name, () => fixture.call(name, { query }, { route: { kind: 'gateway', profile } }))
})

test('selections of very many names', async () => {
  const query = `select:${'a,b,'.repeat(500_000)}`
  for (const [name, profile] of [
    ['discover_mcp_tools', 'hierarchical'],
    ['mcp_search_tools', 'search'],
  ] as const)
    await within(name, () => fixture.call(name, { query }, { route: { kind: 'gateway', profile } }))
})

test('very many words of a server or a query', async () => {
  const words = Array.from({ length: 300_000 }, (_, at) => at.toString(36)).join(' ')
  const route = { kind: 'gateway', profile: 'search' } as const
  const search = (args: JsonObject) => fixture.call('mcp_search_tools', args, { route })
  await within('servers', () => fixture.call('mcp_list_servers', { query: words }, { route }))
  await within('server', () => search({ query: 'issue', serverName: words }))
  await within('required words', () => search({ query: `+${words.replaceAll(' ', ' +')}` }))
})

test('blank lines in the entry points of a package', async () => {
  const entryPoints = `[console_scripts]\n${'\n'.repeat(300_000)}#\nrun = a:b`
  assert.deepEqual(await within('entry points', () => scriptsOf(entryPoints, 'console')), ['run'])
})
