/** The pages of answers of discover_mcp_tools. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { composeDiscovery } from '../../router/meta/profiles/hierarchical/discovery-answer.ts'
import { asking } from './asking.ts'
import { createFixture, type Fixture } from './fixture.ts'
import { ISSUE_SCHEMA, SERVERS } from './servers.ts'

type Page = { tools: { tool_path: string; weak?: boolean }[]; nextCursor?: string; more?: string }

const { read } = asking('hierarchical')

const find = (fixture: Fixture, query: string | string[], limit = 10, cursor?: string): Promise<Page> =>
  read(fixture, 'discover_mcp_tools', { query, limit, ...(cursor !== undefined && { cursor }) })

const pathsOf = ({ tools }: Page): string[] => tools.map(({ tool_path }) => tool_path)

test('a search has pages up to its best 200 tools, each within the budget, without repeating a tool', async () => {
  const tools = Array.from({ length: 230 }, (_, i) => ({
    name: `alpha_${i}`,
    description: 'Creates an alpha of some kind, as it was asked for, and tells where it is',
    inputSchema: ISSUE_SCHEMA,
  }))
  const fixture = createFixture({ ...SERVERS, big: { offers: { tools } } })
  for (const query of ['alpha', ['alpha kind', 'create alpha']]) {
    const seen: string[] = []
    let page = await find(fixture, query, 50)
    assert.ok(page.tools.length < 50)
    for (; page.nextCursor; page = await find(fixture, query, 50, page.nextCursor)) {
      assert.ok(estimateTokens(JSON.stringify(page)) <= 1_200)
      seen.push(...pathsOf(page))
    }
    seen.push(...pathsOf(page))
    assert.deepEqual([seen.length, new Set(seen).size], [200, 200])
    assert.match(page.more ?? '', /best 200: narrow the query/)
  }
  assert.equal((await find(fixture, 'forge:create_issue')).nextCursor, undefined)
})

test('pages of a search join to the same list as one large page', async () => {
  const fixture = createFixture(SERVERS, {
    budget: { definitionTokens: 1, activeTools: 1, responseTokens: 9_000 },
  })
  const whole = await find(fixture, 'issue', 50)
  assert.equal(whole.nextCursor, undefined)
  const seen: string[] = []
  let page = await find(fixture, 'issue', 2)
  for (; page.nextCursor; page = await find(fixture, 'issue', 2, page.nextCursor)) seen.push(...pathsOf(page))
  seen.push(...pathsOf(page))
  assert.deepEqual(seen, pathsOf(whole))
})

test('a cursor of another query is refused', async () => {
  const fixture = createFixture(SERVERS)
  const { nextCursor } = await find(fixture, 'issue', 1)
  for (const args of [
    { query: 'board', cursor: nextCursor },
    { query: ['issue', 'board'], cursor: nextCursor },
    { query: 'issue', cursor: 'made up' },
  ]) {
    const refused = await fixture.call('discover_mcp_tools', args as JsonObject)
    assert.equal(refused.isError, true)
    assert.match(refused.content[0]?.text ?? '', /cursor is not valid here: give it with the same query/)
  }
})

test('weak hits after the fifth are shown only with a limit, a cursor or several queries', async () => {
  const others = Array.from({ length: 12 }, (_, i) => ({
    name: `x${i}`,
    description: 'about a workout',
    inputSchema: {},
  }))
  const tools = [{ name: 'log_workout', description: 'Logs a workout', inputSchema: {} }, ...others]
  const fixture = createFixture({ gym: { offers: { tools } } })
  const query = 'log workout'
  const usual: Page = await read(fixture, 'discover_mcp_tools', { query })
  assert.deepEqual(
    usual.tools.map(({ weak }) => weak),
    [undefined, true, true, true, true],
  )
  assert.equal(usual.more, 'weaker ones: continue with nextCursor')
  assert.equal((await find(fixture, query, 9)).tools.length, 9)
  const next: Page = await read(fixture, 'discover_mcp_tools', { query, cursor: usual.nextCursor ?? '' })
  assert.deepEqual(new Set([...pathsOf(usual), ...pathsOf(next)]).size, tools.length)
  const six = Array.from({ length: 6 }, (_, i) => `x${i} log workout`)
  const several: Page = await read(fixture, 'discover_mcp_tools', { query: six })
  assert.ok(several.tools.length >= six.length)
})

test('a strong hit among the first three has its schema if there is room, however far below the best it is; else the answer says how to get it', () => {
  const schemaOf = (parts: number) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: parts }, (_, at) => [`a_long_name_${at}`, { type: 'string' }]),
    ),
  })
  const answerWith = (parts: number) => {
    const tools = ['best', 'other'].map(name => ({
      name,
      description: 'Does it',
      inputSchema: schemaOf(parts),
    }))
    const catalog = createFixture({ a: { offers: { tools } } }).catalog()
    const found = (path: string, relevance: number) => {
      return { item: catalog.toolByName.get(path) ?? assert.fail(), relevance, weak: false, whole: false }
    }
    const hits = { tools: [found('a:best', 0.4), found('a:other', 0.2)], extras: [], totalFound: 2 }
    const page = { from: 0, hasMore: false, cursorAfter: () => undefined, searchMs: 1, query: 'do it' }
    const { text } = composeDiscovery({ catalog, ...hits, ...page })
    return JSON.parse(text)
  }
  const roomy = answerWith(5)
  assert.deepEqual(roomy.tools[1].input_schema, schemaOf(5))
  assert.equal(roomy.more, undefined)
  const full = answerWith(60)
  assert.equal(full.tools[1].input_schema, undefined)
  assert.match(full.more, /other schemas: query select:PATH,PATH/)
})

test('of the _meta of a tool, a hit shows only the page of its results, and a weak hit nothing', () => {
  const catalog = createFixture(SERVERS).catalog()
  const item = catalog.toolByName.get('forge:show_board') ?? assert.fail()
  const metaOf = (weak: boolean) => {
    const hits = { tools: [{ item, relevance: 0.5, weak, whole: false }], extras: [], totalFound: 1 }
    const page = { from: 0, hasMore: false, cursorAfter: () => undefined, searchMs: 1, query: 'board' }
    return JSON.parse(composeDiscovery({ catalog, ...hits, ...page }).text).tools[0]._meta
  }
  assert.deepEqual(metaOf(false), { ui: { resourceUri: 'ui://forge/board/main' } })
  assert.equal(metaOf(true), undefined)
})
