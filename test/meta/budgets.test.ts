/** No answer of discovery or of a list costs more than the budget, counted with the real tokenizer on real catalogs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { Profile, RouterConfig } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { trimSchema } from '../../router/meta/schemas/trim.ts'
import { onlyRecorded } from '../search/where-recorded.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type Fixture, type FixtureServer } from './fixture.ts'
import { SERVERS } from './servers.ts'

const count = (text: string): number => encode(text).length
const BUDGETS = [200, 300, 400, 1_200, 5_000]
/** An answer for a path may cost this many budgets if it then has the whole schema. */
const WHOLE_BUDGETS = 2.5
/** At limit 5: an answer, and the same without its schemas. */
const MAX_AVERAGE_TOKENS = 1_200
const MAX_AVERAGE_BARE_TOKENS = 350

/** A query with as many tokens as bytes, and whose best hit has a long line. */
const RARE_SCRIPTS = 'മ𐀀ჲᣈ葉⸀𐝃⇆𐑖𐎨'

const counts = new Map<string, number>()
const servers: Record<string, FixtureServer> = {}
for (const { name, tools } of defaultCatalogs()) servers[name] = { offers: { tools }, count: countOnce }
const usual = createFixture(servers)
const paths = usual.catalog().tools.map(({ path }) => path)
const words = [
  ...new Set(usual.catalog().tools.flatMap(({ definition }) => (definition.description ?? '').split(/\W+/))),
].filter(word => word !== '')

test('discovery stays within every budget for any query', async () => {
  const path = fc.constantFrom(...paths)
  const need = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 8 }).map(some => some.join(' '))
  const query = fc.oneof(
    path,
    path.map(one => `${one}#`),
    need,
    fc.array(fc.oneof(need, path), { minLength: 1, maxLength: 10 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 2_000 }).filter(some => some.trim() !== ''),
  )
  for (const responseTokens of BUDGETS) {
    setBudget(responseTokens)
    const cases = fc.asyncProperty(query, fc.constantFrom(1, 5, 10, 50), async (asked, limit) => {
      const text = await textOf(usual, 'discover_mcp_tools', { query: asked, limit })
      const { tools } = JSON.parse(text)
      const isWhole = tools.length > 0 && tools.every((tool: JsonObject) => tool.relevance_score === 1)
      const most = responseTokens * (isWhole ? WHOLE_BUDGETS : 1)
      assert.ok(count(text) <= most, `${count(text)} of ${responseTokens}: ${text}`)
    })
    await fc.assert(cases, { numRuns: 50, examples: [[RARE_SCRIPTS, 1]] })
  }
})

test('a path returns the whole schema if 2.5 budgets hold it, else a folded one within one budget, and says so', async () => {
  for (const responseTokens of [300, 1_200]) {
    setBudget(responseTokens)
    for (const { path, definition, schemaTokens, descriptionTokens } of usual.catalog().tools) {
      const text = await textOf(usual, 'discover_mcp_tools', { query: path })
      const { tools, more } = JSON.parse(text)
      const { schema } = trimSchema(definition.inputSchema, schemaTokens)
      const fits = schemaTokens + descriptionTokens + 220 < WHOLE_BUDGETS * responseTokens * 0.9
      if (fits)
        assert.deepEqual(
          [tools[0].input_schema, tools[0].description],
          [schema, definition.description ?? ''],
          path,
        )
      assert.equal(tools.length, 1)
      const whole = JSON.stringify(tools[0].input_schema) === JSON.stringify(schema)
      assert.ok(count(text) <= responseTokens * (whole ? WHOLE_BUDGETS : 1), path)
      assert.equal(/folded schema: query "tool_path#\/properties\/NAME"/.test(more ?? ''), !whole, path)
    }
  }
})

test('a tool whose description is full of quotes and line breaks costs at most 2.5 budgets in each profile', async () => {
  for (const lines of [30, 60, 90, 200]) {
    const description = '- "a": "b"\n\t"c"\n'.repeat(lines)
    const tools = [{ name: 'quoted', description, inputSchema: { type: 'object' } }]
    for (const responseTokens of BUDGETS) {
      const listing = createFixture(
        { odd: { offers: { tools }, count } },
        { ...budgetOf(responseTokens), ...ALL },
      )
      const asked: [Profile, string, JsonObject][] = [
        ['hierarchical', 'discover_mcp_tools', { query: 'odd:quoted' }],
        ['search', 'mcp_get_tool_schema', { toolName: 'odd:quoted' }],
        ['registry', 'activate', { tools: ['odd:quoted'] }],
      ]
      for (const [profile, name, args] of asked) {
        const { content } = await listing.call(name, args, { route: { kind: 'gateway', profile } })
        const tokens = count(content[0]?.text ?? '')
        assert.ok(tokens <= WHOLE_BUDGETS * responseTokens, `${name}: ${tokens} of ${responseTokens}`)
      }
    }
  }
})

test('each part that a folded schema leaves out can be read by its pointer', async t => {
  if (!onlyRecorded(t)) return
  setBudget(400)
  const big = usual.catalog().tools.filter(tool => tool.schemaTokens > 1_000)
  assert.ok(big.length > 5)
  for (const { path, definition } of big) {
    const properties = definition.inputSchema.properties as JsonObject
    for (const [name, schema] of Object.entries(properties)) {
      const query = `${path}#/properties/${name}`
      const { tools, more } = JSON.parse(await textOf(usual, 'discover_mcp_tools', { query }))
      assert.equal(tools[0].tool_path, path)
      if (!String(more).includes('folded')) assert.deepEqual(tools[0].input_schema, schema, query)
    }
  }
  const [{ path }] = big as [(typeof big)[number]]
  const wrong = await usual.call('discover_mcp_tools', { query: `${path}#/properties/nothing` })
  assert.equal(wrong.isError, true)
  assert.match(wrong.content[0]?.text ?? '', /There is no part "\/properties\/nothing" .* It has: \w+, /)
})

test(`an average answer at limit 5 costs at most ${MAX_AVERAGE_TOKENS} tokens, and ${MAX_AVERAGE_BARE_TOKENS} without schemas`, async t => {
  setBudget(1_200)
  const asked = usual.catalog().tools.filter((_tool, at) => at % 7 === 0)
  let whole = 0
  let bare = 0
  for (const { server, tool } of asked) {
    const query = `${server} ${tool}`.replaceAll(/[^A-Za-z0-9]+/g, ' ')
    const answer = JSON.parse(await textOf(usual, 'discover_mcp_tools', { query, limit: 5 }))
    whole += count(JSON.stringify(answer))
    for (const line of answer.tools) delete line.input_schema
    bare += count(JSON.stringify(answer))
  }
  const [average, averageBare] = [whole / asked.length, bare / asked.length]
  t.diagnostic(
    `${asked.length} answers: ${average.toFixed(0)} tokens, ${averageBare.toFixed(0)} without schemas`,
  )
  assert.ok(average <= MAX_AVERAGE_TOKENS)
  assert.ok(averageBare <= MAX_AVERAGE_BARE_TOKENS)
})

test('pages of resources stay within every budget, and together have as many entries as there are', async () => {
  const resources = Array.from({ length: 60 }, (_, at) => ({
    uri: `https://example.com/${at}/${at % 9 === 0 ? 'x/1f3a9b/'.repeat(at * 20) : 'größe'}`,
    name: at % 11 === 0 ? 'A name without an end '.repeat(100) : `file ${at}`,
    description: 'Ein längerer Text über das, was hier steht. '.repeat(at % 5),
    mimeType: 'text/plain',
    annotations: at % 13 === 0 ? { note: 'n '.repeat(2_000) } : { priority: 0.5 },
    _meta: at % 17 === 0 ? { blob: 'ab1'.repeat(3_000) } : { at },
  }))
  for (const responseTokens of BUDGETS) {
    const listing = createFixture({ ...SERVERS, many: { offers: { resources } } }, budgetOf(responseTokens))
    let seen = 0
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const text = await textOf(listing, 'list_mcp_resources', cursor === undefined ? {} : { cursor })
      assert.ok(count(text) <= responseTokens, `${count(text)} of ${responseTokens}: ${text}`)
      const page = JSON.parse(text)
      seen += page.resources.length + page.resource_templates.length
      cursor = page.nextCursor
    }
    assert.equal(seen, 3 + 1 + 60)
  }
})

test('the error for a long message of an upstream stays within the budget', async () => {
  const message = 'Ошибка: всё пропало! '.repeat(500)
  const failing = createFixture(
    { ...SERVERS, forge: { ...SERVERS.forge, answer: () => ({ error: { code: -1, message } }) } },
    budgetOf(200),
  )
  const answer = await failing.call('read_mcp_resource', { uri: 'forge|file:///x' })
  assert.equal(answer.isError, true)
  assert.ok(count(answer.content[0]?.text ?? '') <= 200)
})

const ALL = { allowedProfiles: ['search', 'registry'] } satisfies Partial<RouterConfig>

function budgetOf(responseTokens: number) {
  return { budget: { definitionTokens: 5_000, activeTools: 10, responseTokens } }
}

function setBudget(responseTokens: number): void {
  usual.reload(servers, budgetOf(responseTokens))
}

function countOnce(text: string): number {
  const known = counts.get(text) ?? count(text)
  counts.set(text, known)
  return known
}

async function textOf(of: Fixture, name: string, args: JsonObject): Promise<string> {
  const { content, isError } = await of.call(name, args)
  assert.equal(isError, undefined, content[0]?.text)
  return content[0]?.text ?? ''
}
