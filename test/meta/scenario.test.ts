/** What whole sessions cost for every profile: replayed against real catalogs, counted by the real tokenizer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import type { LiveGateway } from '../../cli/live-gateway.ts'
import { replaySession, type SessionCost, type Task } from '../../cli/scenario.ts'
import type { Profile } from '../../core/catalog/router-config.ts'
import { toolText } from '../../core/tokens.ts'
import { listedDefinition } from '../../router/meta/listing/listed-definition.ts'
import { exposedTokens } from '../../router/meta/profiles/profiles.ts'
import { onlyRecorded } from '../search/where-recorded.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type Fixture, type FixtureServer } from './fixture.ts'

const PROFILES = ['hierarchical', 'search', 'registry'] as const
/** Tools that a task needs: 40 recorded tasks need 97. */
const STEPS = 3
/** One of this many tools is one that a task needs. */
const EVERY = 37
const MIN_SAVED = 0.97

const count = (text: string): number => encode(text).length
const servers: Record<string, FixtureServer> = {}
for (const { name, tools } of defaultCatalogs()) servers[name] = { offers: { tools }, count }
const fixture = createFixture(servers, { allowedProfiles: ['hierarchical', 'search', 'registry', 'direct'] })
const catalog = fixture.catalog()
const direct = catalog.totals.tokens

test('a task costs at most 3 % of all definitions in each profile that searches, and nothing is called', async context => {
  const tools = catalog.tools.filter((_, at) => at % EVERY === 0)
  const tasks = tools.map(({ path, server, tool }) => ({
    query: `${server} ${tool.replaceAll(/[_-]/g, ' ')}`,
    call: { tool: path, arguments: {} },
  }))
  for (const profile of PROFILES) {
    let total = 0
    let sessions = 0
    for (let at = 0; at + STEPS <= tasks.length; at += STEPS) {
      const cost = await replay(profile, tasks.slice(at, at + STEPS))
      assert.equal(cost.error, 0)
      total += cost.total
      sessions++
    }
    const saved = 1 - total / sessions / direct
    context.diagnostic(
      `${profile}: ${Math.round(total / sessions)} tokens a task, ${(100 * saved).toFixed(2)} % saved`,
    )
    if (catalog.tools.length > 700) assert.ok(saved >= MIN_SAVED, `${profile} saves ${saved}`)
  }
  assert.deepEqual(fixture.sent, [])
})

test('missed tools are requested by path, shown schemas are not requested again, and errors count', async () => {
  const [first] = catalog.tools
  assert.ok(first)
  const task: Task = { query: 'zzzz qqqq', call: { tool: first.path, arguments: {} } }
  const cost = await replay('hierarchical', [task, task])
  assert.equal(cost.missed, 2)
  assert.ok(cost.schema > 0 && cost.discovery > 0 && cost.error === 0)
  const unknown: Task = { query: 'x', call: { tool: 'nobody:nothing', arguments: {} } }
  assert.ok((await replay('search', [unknown])).error > 0)
})

test('the direct profile costs its definitions, and tools are called if that is asked for', async t => {
  if (!onlyRecorded(t)) return
  const { path, definition, tool } = catalog.tools[0] ?? assert.fail()
  const args = sampleArguments(definition.inputSchema)
  const cost = await replay('direct', [{ query: 'x', call: { tool: path, arguments: args as never } }], true)
  const listed = catalog.tools.map(tool =>
    count(toolText({ ...listedDefinition(tool), name: tool.listedName })),
  )
  assert.equal(
    cost.total,
    listed.reduce((sum, one) => sum + one, 0),
  )
  const exposed = exposedTokens(catalog, 'direct')
  assert.ok(Math.abs(exposed / cost.total - 1) < 0.01, `${exposed} for ${cost.total}`)
  assert.equal(fixture.sent.at(-1)?.call.params?.name, tool)
})

test('the tokens that a gateway counts are within a tenth of what its answers really cost, for every profile', async () => {
  for (const profile of PROFILES) {
    const other = createFixture(servers, { allowedProfiles: [...PROFILES] })
    const tasks = catalog.tools
      .filter((_, at) => at % (2 * EVERY) === 0)
      .map(({ path, tool }) => ({
        query: tool.replaceAll(/[_-]/g, ' '),
        call: { tool: path, arguments: {} },
      }))
    const cost = await replay(profile, tasks, false, other)
    const { definitions = 0, discovery = 0, schema = 0, error = 0 } = other.seen.served
    const counted = definitions + discovery + schema + error
    assert.ok(Math.abs(counted / cost.total - 1) < 0.1, `${profile}: ${counted} for ${cost.total}`)
    assert.equal(definitions, cost.definitions, profile)
    assert.equal(other.seen.direct, direct)
  }
})

function replay(
  profile: Profile,
  tasks: readonly Task[],
  execute = false,
  of = fixture,
): Promise<SessionCost> {
  const gateway = liveGateway(of)
  return replaySession(profile, tasks, { gateway, count: async texts => texts.map(count), execute })
}

/** A fixture with the interface through which commands ask a gateway. */
function liveGateway({ request }: Fixture): LiveGateway {
  const unused = () => Promise.reject(new Error('not asked for here'))
  return {
    status: unused,
    explain: unused,
    users: unused,
    endUser: unused,
    close: async () => {},
    async request(method, params, profile = 'hierarchical') {
      const { result, error } = await request(method, params, { route: { kind: 'gateway', profile } })
      return result ?? assert.fail(error?.message)
    },
  }
}
