/** What discover of the registry profile takes and answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { asking } from './asking.ts'
import type { Fixture, FixtureServer } from './fixture.ts'
import { forge, LONG_DESCRIPTION } from './servers.ts'

type Tool = { name: string; server: string; category: string; description: string; relevance: number }
type Found = {
  tools: Tool[]
  categories?: { category: string; servers: string[]; tools: number }[]
  resources?: JsonObject[]
  prompts?: JsonObject[]
  nextCursor?: string
  more?: string
}
const { start, ask, read } = asking('registry')

const discover = (fixture: Fixture, args: JsonObject): Promise<Found> => read(fixture, 'discover', args)

test('discover answers the documented fields, with at most five tools and 100 characters of description', async () => {
  const { tools, categories } = await discover(start(), { query: 'forge create issue' })
  assert.deepEqual(tools[0], {
    name: 'forge:create_issue',
    server: 'forge',
    category: 'devops',
    description: 'Create an issue in a repository',
    relevance: 1,
  })
  assert.ok(tools.length <= 5)
  assert.equal(categories, undefined)
  const [long] = (await discover(start(), { query: 'wiki:search' })).tools
  assert.ok(
    long && long.description.length <= 100 && LONG_DESCRIPTION.startsWith(long.description.slice(0, 80)),
  )
  assert.equal(long.category, 'other')
})

test('a category, or a server by name or title, narrows the search', async () => {
  const fixture = start()
  const servers = async (category: string) =>
    new Set(
      (await discover(fixture, { query: 'issues', category, limit: 50 })).tools.map(({ server }) => server),
    )
  assert.deepEqual(await servers('DevOps'), new Set(['forge']))
  assert.deepEqual(await servers('other'), new Set(['wiki']))
  assert.deepEqual(await servers('Wiki'), new Set(['wiki']))
})

test('a category that is none is refused with the nearest ones; of a server that cannot be used, the state is told', async () => {
  const down: FixtureServer = { server: { status: { state: 'failed', hidden: true } } }
  const silent: FixtureServer = { offers: { tools: [] } }
  const fixture = start({ 'server-forge': forge, down, silent })
  for (const query of ['create issue', undefined]) {
    const refusal = async (category: string) => {
      const { content, isError } = await ask(fixture, 'discover', { query, category })
      return isError ? content[0]?.text : undefined
    }
    assert.equal(
      await refusal('forge-server'),
      'There is no category or server "forge-server". The nearest: server-forge, devops, silent.',
    )
    assert.match((await refusal('down')) ?? '', /Server "down" is down/)
    for (const known of ['silent', 'server-forge', 'Forge', 'devops'])
      assert.equal(await refusal(known), undefined)
  }
})

test('a category or title of servers without tools is known, in any case; if all of them are down, a state is told', async () => {
  const tools = { allow: ['*'], deny: [], overrides: { pay: { category: 'Money' } } }
  const down: FixtureServer = {
    server: { category: 'finance', title: 'Ledger', tools, status: { state: 'failed', hidden: true } },
  }
  const silent: FixtureServer = { server: { category: 'quiet' }, offers: { tools: [] } }
  const fixture = start({ forge, down, silent })
  for (const query of ['create issue', undefined]) {
    const refusal = async (category: string) => {
      const { content, isError } = await ask(fixture, 'discover', { query, category })
      return isError ? content[0]?.text : undefined
    }
    for (const known of ['quiet', 'Silent']) assert.equal(await refusal(known), undefined, known)
    for (const hidden of ['finance', 'ledger', 'Down', 'money'])
      assert.match((await refusal(hidden)) ?? '', /Server "down" is down/, hidden)
  }
})

test("a tool's own category takes precedence over its server's", async () => {
  const tools = { allow: ['*'], deny: [], overrides: { create_issue: { category: 'tickets' } } }
  const fixture = start({ forge: { ...forge, server: { ...forge.server, tools } } })
  assert.equal((await discover(fixture, { query: 'forge:create_issue' })).tools[0]?.category, 'tickets')
  assert.deepEqual((await discover(fixture, { query: 'issue', category: 'tickets' })).tools.length, 1)
  assert.deepEqual((await discover(fixture, { query: '' })).categories, [
    { category: 'devops', servers: ['forge'], tools: 3 },
    { category: 'tickets', servers: ['forge'], tools: 1 },
  ])
})

test('a search without results lists the categories, each of which can be listed', async () => {
  const fixture = start()
  for (const query of ['zzqqxx', '']) {
    const { tools, categories } = await discover(fixture, { query })
    assert.deepEqual(tools, [])
    assert.deepEqual(categories, [
      { category: 'devops', servers: ['forge'], tools: 4 },
      { category: 'other', servers: ['wiki'], tools: 3 },
    ])
  }
  const { tools } = await discover(fixture, { query: '', category: 'other' })
  assert.deepEqual(new Set(tools.map(({ server }) => server)), new Set(['wiki']))
  assert.equal(tools.length, 3)
  assert.equal((await discover(fixture, { category: 'other' })).tools.length, 3, 'without a query too')
  const some = await discover(fixture, { category: 'devops', limit: 1 })
  assert.deepEqual(
    [some.tools.length, some.more],
    [1, '3 more: continue with nextCursor, or give a more specific query.'],
  )
})

test('hits that do not fit into the answer are counted', async () => {
  const tools = Array.from({ length: 20 }, (_, at) => ({ name: `alpha_${at}`, inputSchema: {} }))
  const fixture = start({ big: { offers: { tools } } }, { responseTokens: 300 })
  const found = await discover(fixture, { query: 'alpha', limit: 20 })
  assert.ok(found.tools.length < 20)
  const three = await discover(fixture, { query: 'alpha', limit: 3 })
  assert.equal(three.more, '17 more: continue with nextCursor, or give a more specific query.')
  assert.equal(
    found.more,
    `${20 - found.tools.length} more: continue with nextCursor, or give a more specific query.`,
  )
})

test('resources and prompts are included with the names that execute accepts', async () => {
  const fixture = start()
  const { prompts } = await discover(fixture, { query: 'forge triage new issues' })
  assert.equal(prompts?.[0]?.prompt_path, 'forge:triage')
  const { resources } = await discover(fixture, { query: 'forge readme' })
  assert.equal(resources?.[0]?.uri, 'forge|file:///readme.md')
  await ask(fixture, 'execute', { tool: 'forge:triage', args: { repository: 'a/b' } })
  await ask(fixture, 'execute', { tool: 'forge|file:///readme.md' })
  assert.deepEqual(
    fixture.sent.map(({ call }) => call.method),
    ['prompts/get', 'resources/read'],
  )
})

test('nextCursor pages through a search and through a category; a cursor of another request is refused', async () => {
  const fixture = start()
  for (const args of [{ query: 'issue' }, { category: 'devops' }]) {
    const whole = (await discover(fixture, { ...args, limit: 50 })).tools.map(({ name }) => name)
    assert.ok(whole.length > 2, `${whole.length} tools`)
    const paged: string[] = []
    let cursor: string | undefined
    do {
      const page = await discover(fixture, { ...args, limit: 2, cursor })
      paged.push(...page.tools.map(({ name }) => name))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    assert.deepEqual(paged, whole)
  }
  const { nextCursor } = await discover(fixture, { query: 'issue', limit: 1 })
  const other = await ask(fixture, 'discover', { query: 'page', limit: 1, cursor: nextCursor })
  assert.match(JSON.stringify(other), /cursor/)
  assert.equal(other.isError, true)
})
