/** What holds in every profile, on the recorded catalogs: what is found can be called, and no answer costs more than it may. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { ANONYMOUS } from '../../core/mcp/identity.ts'
import { toolText } from '../../core/tokens.ts'
import { PROFILES } from '../../router/meta/profiles/profiles.ts'
import { WHOLE_BUDGETS } from '../../router/meta/wording/lines.ts'
import { onlyRecorded } from '../search/where-recorded.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type Fixture, type FixtureServer, type RequestOptions } from './fixture.ts'
import { forge, SERVERS } from './servers.ts'

const MAX_LIST_TOKENS: Readonly<Record<Profile, number>> = {
  hierarchical: 600,
  search: 600,
  registry: 500,
  direct: 0,
  code: 300,
}
const ALL = Object.keys(PROFILES) as Profile[]
const QUERIES = [
  'github create issue',
  'read file',
  'list pods',
  'search the web',
  'run sql query',
  'send message to channel',
  'screenshot of a page',
  'delete branch',
  'convert currency',
  'zzqqxx',
]
const count = (text: string): number => encode(text).length

let fixture: Fixture
before(() => {
  const servers: Record<string, FixtureServer> = {}
  for (const { name, tools } of defaultCatalogs()) servers[name] = { offers: { tools }, count }
  fixture = createFixture(servers, { allowedProfiles: ALL })
})

const asking = (profile: Profile, more: RequestOptions = {}) => ({
  route: { kind: 'gateway', profile } as const,
  ...more,
})

/** The text of a meta-tool's answer, whether or not it is an error. */
async function answer(profile: Profile, name: string, args: JsonObject, client?: string): Promise<string> {
  const { content } = await fixture.call(name, args, asking(profile, client === undefined ? {} : { client }))
  assert.equal(content.length, 1)
  return content[0]?.text ?? ''
}

test('the recorded costs of meta-tools are right and within limits; only tools that read have annotations', () => {
  for (const profile of ALL) {
    const { tools, script, prices } = PROFILES[profile]
    const definitions = [...tools.values()].map(({ definition }) => definition)
    const scriptText = toolText(script.definition)
    assert.equal(prices.script, count(scriptText))
    if (profile === 'code') assert.ok(prices.tools + prices.script <= MAX_LIST_TOKENS.code)
    const priced = definitions.map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }))
    assert.equal(
      prices.tools,
      priced.reduce((sum, definition) => sum + count(JSON.stringify(definition)), 0),
    )
    if (definitions.length > 0) assert.ok(count(JSON.stringify(definitions)) <= MAX_LIST_TOKENS[profile])
    for (const { name, annotations } of definitions)
      assert.equal(annotations !== undefined, !/execute|activate/.test(name), name)
  }
})

test('what a search finds in any profile can be called under the name that it was given', async () => {
  const callable = async (profile: Profile, tool: string, args: JsonObject): Promise<void> => {
    const before = fixture.sent.length
    await fixture.call(tool, args, asking(profile))
    const refusedArguments = fixture.seen.calls.at(-1)?.outcome === 'rejected'
    assert.ok(fixture.sent.length > before || refusedArguments, `${profile} ${JSON.stringify(args)}`)
    assert.notEqual(fixture.seen.calls.at(-1)?.tool, undefined, `${profile} ${JSON.stringify(args)}`)
  }
  for (const query of QUERIES) {
    for (const { toolName, serverId } of JSON.parse(await answer('search', 'mcp_search_tools', { query }))
      .tools)
      await callable('search', 'mcp_execute_tool', { toolName, serverId, args: {} })
    for (const { name } of JSON.parse(await answer('registry', 'discover', { query })).tools)
      await callable('registry', 'execute', { tool: name })
    for (const { tool_path } of JSON.parse(await answer('hierarchical', 'discover_mcp_tools', { query }))
      .tools)
      await callable('hierarchical', 'execute_mcp_tool', { tool_path })
  }
  const { result } = await fixture.request('tools/list', {}, asking('direct'))
  for (const { name } of (result?.tools as { name: string }[]).slice(0, 50))
    await callable('direct', name, {})
})

for (const responseTokens of [200, 600, 1_200, 4_000])
  test(`no answer costs more than a budget of ${responseTokens} tokens, or 2.5 times that for one schema`, async t => {
    if (!onlyRecorded(t)) return
    const { config } = fixture.catalog()
    const budget = { ...config.budget, responseTokens }
    const catalogs = defaultCatalogs()
    const servers: Record<string, FixtureServer> = {}
    for (const { name, tools } of catalogs) servers[name] = { offers: { tools }, count }
    fixture.reload(servers, { budget })
    const atMost = (text: string, what: string, limit = responseTokens) =>
      assert.ok(count(text) <= limit, `${what}: ${count(text)} of ${limit}`)
    const atMostWhole = (text: string, what: string) => atMost(text, what, WHOLE_BUDGETS * responseTokens)
    for (const query of [...QUERIES, [...QUERIES]]) {
      const args = { query, limit: 50 }
      atMost(await answer('search', 'mcp_search_tools', args), `search ${query}`)
      atMost(await answer('registry', 'discover', args), `discover ${query}`)
    }
    for (const query of ['e', 'create.*', '^a']) {
      const args = { query, limit: 50 }
      atMost(await answer('search', 'mcp_search_tool_regex', args), `regex ${query}`)
      atMost(
        await answer('search', 'mcp_search_tools', { query: `+${query}`, limit: 50 }),
        `required ${query}`,
      )
    }
    atMost(await answer('search', 'mcp_list_servers', {}), 'servers')
    atMost(await answer('search', 'mcp_search_tools', { operation: 'list', limit: 50 }), 'list')
    atMost(await answer('registry', 'discover', { query: '' }), 'categories')
    const tools = fixture.catalog().tools.toSorted((a, b) => b.tokens - a.tokens)
    for (const tool of [...tools.slice(0, 20), ...tools.filter((_tool, at) => at % 20 === 0)]) {
      const args = { toolName: tool.tool, serverId: tool.server }
      atMostWhole(await answer('search', 'mcp_get_tool_schema', args), `schema of ${tool.path}`)
      atMostWhole(await answer('registry', 'activate', { tools: [tool.path] }), `activate ${tool.path}`)
    }
    for (let at = 0; at + 8 < tools.length; at += 97) {
      const paths = tools.slice(at, at + 8).map(({ path }) => path)
      atMost(
        await answer('registry', 'activate', { tools: [...paths, 'nobody:x'] }, 'anna'),
        `activate ${paths}`,
      )
    }
  })

test('the counted cost of search and registry answers is within a tenth of the real one', async () => {
  const { served } = fixture.seen
  const sum = () => (served.discovery ?? 0) + (served.schema ?? 0) + (served.error ?? 0)
  const tools = fixture.catalog().tools.filter((_tool, at) => at % 40 === 0)
  const asked: Record<string, () => Promise<string>[]> = {
    search: () => QUERIES.map(query => answer('search', 'mcp_search_tools', { query })),
    regex: () => ['issue', '^list'].map(query => answer('search', 'mcp_search_tool_regex', { query })),
    servers: () => [answer('search', 'mcp_list_servers', {})],
    schemas: () => tools.map(({ path }) => answer('search', 'mcp_get_tool_schema', { toolName: path })),
    discover: () => QUERIES.map(query => answer('registry', 'discover', { query })),
    activate: () => tools.map(({ path }) => answer('registry', 'activate', { tools: [path] })),
    errors: () => QUERIES.map(query => answer('registry', 'execute', { tool: query })),
  }
  for (const [what, ask] of Object.entries(asked)) {
    const before = sum()
    const texts = await Promise.all(ask())
    const real = texts.reduce((total, text) => total + count(text), 0)
    const counted = sum() - before
    assert.ok(Math.abs(counted / real - 1) < 0.1, `${what}: ${counted} for ${real}`)
  }
})

test('the list of a session stays within definitionTokens, whatever it activates', async t => {
  if (!onlyRecorded(t)) return
  const { catalog, request } = fixture
  const { definitionTokens, activeTools } = catalog().config.budget
  for (let at = 0; at < 700; at += 7) {
    const tools = catalog()
      .tools.slice(at, at + 3)
      .map(({ path }) => path)
    const text = await answer('registry', 'activate', { tools }, 'berta')
    const { result } = await request('tools/list', {}, asking('registry', { client: 'berta' }))
    const listed = result?.tools as JsonObject[]
    assert.ok(listed.length <= activeTools + 3)
    const cost = listed.reduce(
      (sum, { name, description, inputSchema }) =>
        sum + count(JSON.stringify({ name, description, inputSchema })),
      0,
    )
    // What the longer names of the list cost is estimated.
    assert.ok(cost <= definitionTokens + 2 * activeTools, `${cost} tokens`)
    const { active_count, estimated_tokens } = JSON.parse(text)
    assert.equal(active_count, listed.length - 3)
    assert.ok(Math.abs(estimated_tokens - cost) <= 2 * activeTools, `${estimated_tokens} for ${cost}`)
  }
})

test('instructions explain the profile and name categories and servers, within 150 tokens', () => {
  const described = (one: Fixture, profile: Profile): string =>
    one.handler.describe({ kind: 'gateway', profile }, ANONYMOUS)?.instructions ?? ''
  const small = createFixture(SERVERS, { allowedProfiles: ALL })
  assert.equal(
    described(small, 'search'),
    '7 tools of 2 servers: search with mcp_search_tools, see arguments with mcp_get_tool_schema, call with mcp_execute_tool. Servers: devops: forge; other: wiki.',
  )
  const many = Object.fromEntries(
    Array.from({ length: 400 }, (_, at) => [
      `server-${at}`,
      { ...forge, server: { category: `area ${at % 9}` } },
    ]),
  )
  const few = createFixture(many, { allowedProfiles: ALL })
  assert.match(described(few, 'registry'), /Categories: area 0 \(45\), area 1 \(45\)/)
  const none = Object.fromEntries(Object.keys(many).map(name => [name, { ...forge, server: {} }]))
  assert.match(described(createFixture(none), 'hierarchical'), /Servers: server-0, .* and 3\d\d more\.$/)
  for (const profile of ALL)
    for (const one of [fixture, small, few]) {
      const text = described(one, profile)
      assert.ok(count(text) <= 150, `${count(text)}: ${text}`)
      for (const name of PROFILES[profile].words.usage.match(/\b\w+_\w+\b/g) ?? [])
        assert.ok(text.includes(name))
    }
})

test('a profile that is not allowed is not served', async () => {
  const one = createFixture(SERVERS, { profile: 'search' })
  for (const profile of ALL) {
    const reply = await one.request('tools/list', {}, asking(profile))
    assert.equal(reply.error?.code, profile === 'search' ? undefined : -32601)
    assert.equal(
      one.handler.describe({ kind: 'gateway', profile }, ANONYMOUS) !== undefined,
      profile === 'search',
    )
  }
})
