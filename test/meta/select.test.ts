/** Several tools in one query, by `select:a,b`, in every profile that searches. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { codeOf } from '../code/script-gateway.ts'
import { createFixture } from './fixture.ts'
import { SERVERS } from './servers.ts'

const SEARCHES: [Profile, string, (tool: JsonObject) => string][] = [
  ['hierarchical', 'discover_mcp_tools', tool => String(tool.tool_path)],
  ['search', 'mcp_search_tools', tool => `${tool.serverId}:${tool.toolName}`],
  ['registry', 'discover', tool => String(tool.name)],
]
const fixture = createFixture(SERVERS, { allowedProfiles: ['search', 'registry'] })

async function toolsOf(profile: Profile, name: string, args: JsonObject): Promise<JsonObject[]> {
  const { content } = await fixture.call(name, args, { route: { kind: 'gateway', profile } })
  return JSON.parse(content[0]?.text ?? '').tools
}

for (const [profile, name, pathOf] of SEARCHES)
  test(`${profile}: select: picks exactly the tools that it names, in their order, by path or by name`, async () => {
    for (const query of ['select:wiki:search, forge:create_issue', 'SELECT:wiki__search,create_issue']) {
      const tools = await toolsOf(profile, name, { query })
      assert.deepEqual(tools.map(pathOf), ['wiki:search', 'forge:create_issue'], query)
    }
  })

test('hierarchical: every selected tool has its whole schema', async () => {
  const catalog = fixture.catalog()
  const paths = catalog.tools.map(({ path }) => path).slice(0, 7)
  const tools = await toolsOf('hierarchical', 'discover_mcp_tools', { query: `select:${paths.join(',')}` })
  assert.deepEqual(
    tools.map(tool => tool.input_schema),
    paths.map(path => catalog.toolByName.get(path)?.definition.inputSchema),
  )
})

test('registry: a selection of more tools than the usual limit is shown whole', async () => {
  const paths = fixture
    .catalog()
    .tools.map(({ path }) => path)
    .slice(0, 7)
  const tools = await toolsOf('registry', 'discover', { query: `select:${paths.join(',')}` })
  assert.equal(tools.length, paths.length)
})

test('a selection of more than ten tools says how many are left out; that of a script has up to 50', async () => {
  const tools = Array.from({ length: 60 }, (_, at) => ({
    name: `do_${at}`,
    description: 'Do it',
    inputSchema: { type: 'object' },
  }))
  const many = createFixture(
    { many: { offers: { tools } } },
    { allowedProfiles: ['registry', 'code'], code: codeOf() },
  )
  const selectOf = (count: number) => `select:${tools.slice(0, count).map(({ name }) => `many:${name}`)}`
  for (const [profile, name] of [
    ['hierarchical', 'discover_mcp_tools'],
    ['registry', 'discover'],
    ['code', 'find_tools'],
  ] as const) {
    const textOf = async (count: number) => {
      const query = selectOf(count)
      const { content } = await many.call(name, { query }, { route: { kind: 'gateway', profile } })
      return content[0]?.text ?? ''
    }
    const leftOut = /4 more of the selected tools are left out: select at most 10 at a time\./
    assert.match(await textOf(14), leftOut, profile)
    assert.doesNotMatch(await textOf(10), /left out/, profile)
    if (profile === 'registry') continue
    const query = [selectOf(10), 'delete everything', 'many:do_3', 'remove it']
    const { content } = await many.call(name, { query }, { route: { kind: 'gateway', profile } })
    assert.match(content[0]?.text ?? '', /[^0-9]2 more of the selected tools are left out/, profile)
  }
  const run = async (code: string) => {
    const route = { kind: 'gateway', profile: 'code' } as const
    const { content } = await many.call('run_mcp_script', { code }, { route })
    return content[0]?.text ?? ''
  }
  assert.match(await run(`return (await discover("${selectOf(14)}")).length`), /^14/)
  assert.match(await run(`return await discover("${selectOf(60)}")`), /takes at most 50 tools/)
  await many.scripts.close()
})
