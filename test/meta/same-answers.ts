/** Random rules and questions: a gateway with the rules, and one that has only what they grant, answer with the same bytes. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import type { AccessRule } from '../../core/catalog/access-config.ts'
import type { Profile } from '../../core/catalog/router-config.ts'
import type { JsonObject } from '../../core/json.ts'
import { extraQueries, ownQueries, recordedQueries } from '../search/catalogs.ts'
import { type Asked, createGateways, realServers, type Servers } from './view-pairs.ts'

export type Effort = { meaning: boolean; views: number; questions: number; seed: number }

const TOOL_PATH = /[a-z0-9-]+:[A-Za-z]\w+\\"/

type Question = { profile: Profile; tool: string; args: JsonObject }

export async function assertSameAnswers(
  t: TestContext,
  { meaning, views, questions, seed }: Effort,
): Promise<void> {
  // The duration of a search is part of its answer, and slow patterns are abandoned: time must not differ.
  t.mock.method(performance, 'now', () => 0)
  const servers = realServers()
  const gateways = createGateways(servers, meaning)
  const question = questionOf(servers)
  let cases = 0
  let found = 0
  const property = fc.asyncProperty(
    rulesOf(servers),
    fc.array(question, { minLength: questions, maxLength: questions }),
    async (rules, asked) => {
      const [whole, part] = [gateways.whole(rules), gateways.part(rules)]
      for (const one of asked) {
        const answer = await assertSame(whole, part, one)
        cases++
        if ('query' in one.args && TOOL_PATH.test(answer)) found++
      }
      assert.deepEqual(whole.encoded, part.encoded)
    },
  )
  await fc.assert(property, { numRuns: views, seed, endOnFailure: true })
  t.diagnostic(`${cases} questions under ${views} views, ${found} of them with hits`)
  assert.ok(found > cases / 4, 'too few questions find something')
}

async function assertSame(whole: Asked, part: Asked, { profile, tool, args }: Question): Promise<string> {
  const [restricted, partial] = [await whole.ask(profile, tool, args), await part.ask(profile, tool, args)]
  assert.equal(restricted, partial, `${tool} ${JSON.stringify(args)}`)
  return partial
}

/** One to three rules, each for some servers and some of what they have. */
function rulesOf(servers: Servers): fc.Arbitrary<AccessRule[]> {
  const names = Object.keys(servers)
  const tools = Object.values(servers).flatMap(({ offers }) => offers.tools?.map(({ name }) => name) ?? [])
  const uris = Object.values(servers).flatMap(({ offers }) => offers.resources?.map(({ uri }) => uri) ?? [])
  const pattern = (items: string[]) =>
    fc.oneof(
      fc.constantFrom(...items),
      fc.constantFrom(...items).map(item => `${item.split(/[_-]/, 1)[0]}*`),
      fc.constantFrom(...items).map(item => `*${item.slice(-4)}*`),
    )
  const patterns = (items: string[]) => fc.array(pattern(items), { maxLength: 3 })
  const allow = (items: string[]): fc.Arbitrary<string[]> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>(['*']) }, patterns(items))
  const grant = (items: string[]) => fc.record({ allow: allow(items), deny: patterns(items) })
  const rule: fc.Arbitrary<AccessRule> = fc.record({
    name: fc.constant('some'),
    subjects: fc.constant([] as AccessRule['subjects']),
    servers: fc.oneof(
      fc.uniqueArray(fc.constantFrom(...names), { minLength: 3, maxLength: 12 }),
      fc.subarray(names, { minLength: Math.ceil(names.length / 3) }),
    ),
    tools: grant(tools).map(tools => ({ ...tools, readOnly: false })),
    resources: grant(uris),
    prompts: grant(['*']),
    scopes: fc.constant([] as string[]),
    challenge: fc.constant(false),
  })
  return fc.array(rule, { minLength: 1, maxLength: 3 })
}

/** Searches of every profile, and names that need not exist. */
function questionOf(servers: Servers): fc.Arbitrary<Question> {
  const labelled = [...ownQueries(), ...extraQueries(), ...recordedQueries()].map(({ query }) => query)
  const tools = Object.entries(servers).flatMap(([server, { offers }]) =>
    (offers.tools ?? []).map(({ name, description }) => ({ server, name, description })),
  )
  const words = tools.flatMap(({ name, description }) =>
    `${name} ${description ?? ''}`.split(/[^\p{L}\p{N}]+/u),
  )
  const word = fc.constantFrom(...new Set(words.filter(Boolean)))
  const query = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...labelled) },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.oneof(word, word.map(slipped)), { minLength: 1, maxLength: 6 })
        .map(some => some.join(' ')),
    },
    fc.constantFrom(...tools).map(({ name }) => name),
    fc.constantFrom(...tools).map(({ name }) => slipped(name)),
    fc.constantFrom(...tools).map(({ server, name }) => `${server} ${name}`),
  )
  const path = fc.constantFrom(...tools).map(({ server, name }) => `${server}:${slipped(name)}`)
  const question = (profile: Profile, tool: string, args: fc.Arbitrary<JsonObject>) =>
    args.map(args => ({ profile, tool, args }))
  const limit = fc.constantFrom(1, 5, 10, 50)
  return fc.oneof(
    { weight: 3, arbitrary: question('hierarchical', 'discover_mcp_tools', fc.record({ query, limit })) },
    { weight: 3, arbitrary: question('search', 'mcp_search_tools', fc.record({ query, limit })) },
    { weight: 3, arbitrary: question('registry', 'discover', fc.record({ query, limit })) },
    question('search', 'mcp_search_tool_regex', fc.record({ query: word, limit })),
    question('search', 'mcp_list_servers', fc.constant({})),
    question('registry', 'activate', fc.record({ tools: fc.tuple(path) })),
    question('hierarchical', 'list_mcp_resources', fc.record({ query })),
    question('hierarchical', 'execute_mcp_tool', fc.record({ tool_path: path, arguments: fc.constant({}) })),
    question('direct', 'tools/list', fc.constant({})),
    question('direct', 'resources/list', fc.constant({})),
  )
}

/** With two letters swapped. */
function slipped(text: string): string {
  const at = Math.floor(text.length / 2)
  return text.slice(0, at) + (text[at + 1] ?? '') + (text[at] ?? '') + text.slice(at + 2)
}
