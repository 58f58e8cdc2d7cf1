/** What the direct profile lists, a page at a time, and that every listed name can be called. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import type { McpRoute } from '../../core/mcp/server/handler.ts'
import { exposedTokens } from '../../router/meta/profiles/profiles.ts'
import { createFixture, type Fixture } from './fixture.ts'
import { forge, ISSUE_SCHEMA, SERVERS, wiki } from './servers.ts'

const ROUTE: McpRoute = { kind: 'gateway', profile: 'direct' }
const start = (servers = SERVERS): Fixture => createFixture(servers, { profile: 'direct' })

async function pages(fixture: Fixture): Promise<JsonObject[][]> {
  const all: JsonObject[][] = []
  let cursor: unknown
  do {
    const params: JsonObject = cursor === undefined ? {} : { cursor: cursor as string }
    const { result, error } = await fixture.request('tools/list', params, { route: ROUTE })
    assert.equal(error, undefined)
    all.push(result?.tools as JsonObject[])
    cursor = result?.nextCursor
  } while (cursor !== undefined)
  return all
}

test('every tool is listed under its listed name, its definition as the server gave it', async () => {
  const [tools = []] = await pages(start())
  assert.deepEqual(
    tools.map(({ name }) => name),
    [
      'forge__create_issue',
      'forge__delete_repository',
      'forge__list_issues',
      'forge__show_board',
      'wiki________',
      'wiki__list_issues',
      'wiki__search',
    ],
  )
  assert.deepEqual(tools[0], {
    name: 'forge__create_issue',
    description: 'Create an issue in a repository',
    inputSchema: ISSUE_SCHEMA,
    annotations: { title: 'New' },
  })
  assert.deepEqual(tools[3]?._meta, { ui: { resourceUri: 'ui://forge/board/main' }, vendor: 1 })
})

test('a listed name calls its own tool', async () => {
  const fixture = start()
  const { toolByName } = fixture.catalog()
  const args = { repository: 'a/b', title: 'x', text: 'y' }
  for (const { name } of (await pages(fixture)).flat()) {
    await fixture.call(String(name), args, { route: ROUTE })
    const { server, call } = fixture.sent.at(-1) ?? assert.fail()
    const route = toolByName.get(String(name))
    assert.deepEqual([server, call.params?.name], [route?.server, route?.tool])
  }
})

test('pages have 1,000 tools; served tokens are counted with listed names, and those of the catalog only once', async () => {
  const tools = Array.from({ length: 2_300 }, (_, at) => ({ name: `t${at}`, inputSchema: {} }))
  const fixture = start({ forge, many: { offers: { tools } } })
  const all = await pages(fixture)
  assert.deepEqual(
    all.map(({ length }) => length),
    [1_000, 1_000, 304],
  )
  const names = all.flat().map(({ name }) => String(name))
  assert.equal(new Set(names).size, 2_304)
  assert.deepEqual(names, names.toSorted())
  const catalog = fixture.catalog()
  assert.equal(fixture.seen.direct, catalog.totals.tokens)
  const listed = exposedTokens(catalog, 'direct')
  assert.equal(fixture.seen.served.definitions, listed)
  assert.ok(listed > catalog.totals.tokens)
})

test('a page has at most a million tokens', async () => {
  const inputSchema = { type: 'object', description: 'word '.repeat(700_000) }
  const tools = ['a', 'b', 'c'].map(name => ({ name, inputSchema }))
  assert.deepEqual(
    (await pages(start({ huge: { offers: { tools } } }))).map(({ length }) => length),
    [1, 1, 1],
  )
})

test('hidden tools are not listed, an invalid cursor is refused, and the error for an unknown tool names tools/list', async () => {
  const hidden = { state: 'failed', reason: 'CrashLooping', hidden: true } as const
  const fixture = start({ forge, wiki: { ...wiki, server: { status: hidden } } })
  assert.ok((await pages(fixture)).flat().every(({ name }) => String(name).startsWith('forge__')))
  const { error } = await fixture.request('tools/list', { cursor: 'zzz' }, { route: ROUTE })
  assert.equal(error?.code, -32602)
  const down = await fixture.call('wiki__search', {}, { route: ROUTE })
  assert.match(down.content[0]?.text ?? '', /"wiki" is down/)
  const unknown = await fixture.call('forge__create_isue', {}, { route: ROUTE })
  assert.match(unknown.content[0]?.text ?? '', /The nearest: .*Or look through tools\/list\./)
})
