/** What a search says while the tools of some servers are not known yet, in every profile that searches. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Profile, ServerState } from '../../core/catalog/router-config.ts'
import { NOTHING_FITS } from '../../router/meta/finding/search-catalog.ts'
import { composeDiscovery } from '../../router/meta/profiles/hierarchical/discovery-answer.ts'
import { codeOf } from '../code/script-gateway.ts'
import { createFixture, type Fixture, type FixtureServer } from './fixture.ts'
import { SERVERS } from './servers.ts'

const SEARCHES: [Profile, string][] = [
  ['hierarchical', 'discover_mcp_tools'],
  ['search', 'mcp_search_tools'],
  ['registry', 'discover'],
  ['code', 'find_tools'],
]
const WAITING = 'The tools of clock, mem are not known yet: they are starting. Search again in a few seconds.'

function startFixture(servers: Record<string, FixtureServer>): Fixture {
  const fixture = createFixture(servers, { allowedProfiles: ['search', 'registry', 'code'], code: codeOf() })
  after(() => fixture.scripts.close())
  return fixture
}

function without(state: ServerState, hidden = false): FixtureServer {
  return { server: { status: { state, hidden } } }
}

const fixture = startFixture({ ...SERVERS, mem: without('starting'), clock: without('starting') })

for (const [profile, name] of SEARCHES) {
  const answerOf = async (query: string, from = fixture) => {
    const { content } = await from.call(name, { query }, { route: { kind: 'gateway', profile } })
    return content[0]?.text ?? ''
  }

  test(`${profile}: a search that finds nothing names the servers that are starting, and says to search again`, async () => {
    const answer = await answerOf('zzqqxx')
    assert.ok(answer.includes(WAITING), answer)
    assert.doesNotMatch(answer, /do without/)
  })

  test(`${profile}: a search that finds a tool does not mention them`, async () => {
    assert.doesNotMatch(await answerOf('forge create issue'), /not known yet/)
  })

  test(`${profile}: servers that are down, hidden, asleep, or up without lists that can be read, are not starting`, async () => {
    const down = {
      broken: without('ready'),
      sleeping: without('asleep'),
      failing: without('failed'),
      gone: without('failed', true),
      off: without('suspended', true),
    }
    assert.ok((await answerOf('zzqqxx', startFixture({ ...SERVERS, ...down }))).includes(NOTHING_FITS))
  })

  test(`${profile}: of many servers that are starting, only some are named`, async () => {
    const many = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map(name => [name, without('starting')]))
    assert.match(await answerOf('zzqqxx', startFixture(many)), /The tools of a, b, c and 2 more are not/)
    const one = startFixture({ mem: without('starting') })
    assert.match(await answerOf('zzqqxx', one), /The tools of mem are not known yet: it is starting\./)
  })
}

test('a search that finds only weak hits names them too', () => {
  const catalog = fixture.catalog()
  const item = catalog.toolByName.get('forge:create_issue') ?? assert.fail()
  const found = {
    catalog,
    tools: [{ item, relevance: 0.3, weak: true, whole: false }],
    extras: [],
    totalFound: 0,
    searchMs: 1,
    from: 0,
    hasMore: false,
    cursorAfter: () => undefined,
    query: 'remember a fact',
  }
  assert.equal(JSON.parse(composeDiscovery(found).text).more, WAITING)
})
