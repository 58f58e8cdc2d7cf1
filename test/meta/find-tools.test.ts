/** The search of the profile `code`, whose answer is declarations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { estimateTokens } from '../../router/catalog/estimate.ts'
import { NOTHING_FITS } from '../../router/meta/finding/search-catalog.ts'
import { declarationsText } from '../../router/meta/profiles/code/find-tools.ts'
import { codeOf } from '../code/script-gateway.ts'
import { createFixture, type FixtureServer } from './fixture.ts'
import { SERVERS } from './servers.ts'

async function find(args: JsonObject, servers: Record<string, FixtureServer> = SERVERS): Promise<string[]> {
  const fixture = createFixture(servers, { allowedProfiles: ['code'], code: codeOf() })
  const { content } = await fixture.call('find_tools', args, { route: { kind: 'gateway', profile: 'code' } })
  await fixture.scripts.close()
  return (content[0]?.text ?? '').split('\n')
}

test('select: picks exactly the tools that it names, in their order, by path or by name', async () => {
  for (const query of ['select:wiki:search, forge:create_issue', 'SELECT:wiki__search,create_issue']) {
    const declarations = (await find({ query })).filter(line => line.startsWith('tools.'))
    assert.deepEqual(
      declarations.map(line => line.slice(0, line.indexOf('('))),
      ['tools.wiki.search', 'tools.forge.create_issue'],
    )
  }
})

test('if no tool fits, the answer says so, and only names those that resemble the query', async () => {
  assert.deepEqual(await find({ query: 'zzqqxx' }), [NOTHING_FITS])
  const weak = {
    path: 'forge:merge',
    description: 'Merges',
    declaration: 'tools.forge.merge()',
    weak: true,
  } as const
  assert.equal(
    declarationsText([weak], 1, { limit: 8, budget: 100, nothing: () => NOTHING_FITS }),
    `// ${NOTHING_FITS}\n// weak: forge:merge`,
  )
})

test('tools beyond the limit are counted', async () => {
  assert.equal(
    (await find({ query: 'issue', limit: 1 })).at(-1),
    '// 3 more: narrow the query, or raise limit.',
  )
})

test('tools that a tool needs are named before its declaration', async () => {
  const tools = [
    {
      name: 'query_panel',
      description: 'Query a panel. Get its uid from list_panels first.',
      inputSchema: {},
    },
    { name: 'list_panels', description: 'List all panels', inputSchema: {} },
  ] as never[]
  const lines = await find({ query: 'charts:query_panel' }, { charts: { offers: { tools } } })
  assert.ok(lines.includes('// needs charts:list_panels'), lines.join('\n'))
})

/** A tool whose declaration and description exceed what a hit of a search gets. */
function largeTool(name: string) {
  const actions = Array.from({ length: 40 }, (_, at) => `action_${at}`)
  const part = (at: number) => [
    `part_${at}`,
    { type: 'object', properties: { [`inner_${at}`]: { type: 'string' } } },
  ]
  const properties = {
    action: { enum: [...actions, 'highlight_text'] },
    ...Object.fromEntries(Array.from({ length: 18 }, (_, at) => part(at))),
  }
  const description = `${'Edits a page and all that is on it. '.repeat(12)}The end.`
  return { name, description, inputSchema: { type: 'object', properties } } as never
}
const PAGES = { pages: { offers: { tools: [largeTool('edit'), largeTool('print')] } } }

test('a tool requested by its path is declared with all that the answer has room for', async () => {
  for (const query of ['pages:edit', 'select:pages:edit', ['pages:edit']]) {
    const answer = (await find({ query }, PAGES)).join('\n')
    assert.match(answer, /The end\./)
    assert.match(answer, /part_17\?: \{inner_17\?: string\}/)
    assert.ok(estimateTokens(answer) <= 1_200)
  }
  const both = (await find({ query: 'select:pages:edit,pages:print' }, PAGES)).join('\n')
  assert.ok(estimateTokens(both) <= 1_200)
  assert.match(both, /tools\.pages\.edit\(args\?: \{[\s\S]*tools\.pages\.print\(args\?: \{/)
})

test('the values of an enum that a query names are shown, even after many others', async () => {
  const answer = (await find({ query: 'edit pages: highlight text', limit: 1 }, PAGES)).join('\n')
  assert.match(answer, /action\?: "action_0" \| .*"highlight_text" \| string/)
  assert.doesNotMatch(answer, /action_39/)
})
