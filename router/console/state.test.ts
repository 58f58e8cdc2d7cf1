/** The state of servers that a page gets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drive, snapshotOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { buildCatalog, type Catalog } from '../catalog/catalog.ts'
import { createCatalogDigest } from './catalog-digest.ts'
import { createLooks, LOOK_MS, type Sight } from './looks.ts'
import { createProfileTokens } from './profile-tokens.ts'
import { createServerPast } from './server-past.ts'
import { type StateFacts, serversOf, stateOf } from './state.ts'

const FACTS: StateFacts = {
  host: {
    placement: 'local',
    actions: [],
    distinguishesCallers: () => false,
    state: () => ({ ready: true, problems: [] }),
    server: () => undefined,
  },
  search: { semantic: 'off', pending: 0 } as never,
  tokens: { direct: 0, served: 0, saved: 0 } as never,
  members: [],
  past: createServerPast(createManualClock(5)),
  digestOf: createCatalogDigest(),
  profileTokens: createProfileTokens(),
}

const OFFERS = { tools: [], resources: [], resourceTemplates: [], prompts: [] }

function catalogOf(...servers: string[]): Catalog {
  const fixtures = Object.fromEntries(servers.map(name => [name, { offers: OFFERS }]))
  return drive(buildCatalog(snapshotOf(fixtures, {}, 1)))
}

test('of the invalid tools of a server the first are sent, and how many more there are', () => {
  const invalid = Array.from({ length: 20_000 }, (_none, at) => ({ name: `tool ${at}`, reason: 'no schema' }))
  const offers = { kit: { offers: { ...OFFERS, invalid } }, sound: { offers: OFFERS } }
  const [kit, sound] = serversOf(drive(buildCatalog(snapshotOf(offers, {}, 1))), FACTS)
  assert.equal(kit?.invalid.length, 20)
  assert.deepEqual(kit.invalid[19], invalid[19])
  assert.equal(kit?.moreInvalid, 19_980)
  assert.deepEqual([sound?.invalid, sound?.moreInvalid], [[], undefined])
})

test('the tokens of a catalog are counted once', () => {
  const catalog = catalogOf('kit')
  const { profiles } = stateOf(catalog, FACTS).tokens
  assert.equal(stateOf(catalog, FACTS).tokens.profiles, profiles)
  assert.notEqual(stateOf(catalogOf('kit'), FACTS).tokens.profiles, profiles)
})

test('all pages look at the same time, and read the servers of one catalog once', () => {
  const clock = createManualClock()
  let read = 0
  const looks = createLooks(clock, () => {
    read++
    return FACTS
  })
  const [catalog, other] = [catalogOf('kit'), catalogOf('sound')]
  const seen: ReturnType<Sight['serversOf']>[] = []
  const stops = [catalog, catalog, other].map(one => looks(sight => seen.push(sight.serversOf(one))))
  assert.deepEqual([seen.length, read], [3, 3])
  clock.advance(LOOK_MS)
  const [first, second, third] = seen.slice(3)
  assert.equal(second, first)
  assert.deepEqual([[...(first?.keys() ?? [])], [...(third?.keys() ?? [])]], [['kit'], ['sound']])
  assert.equal(read, 4)
  clock.advance(LOOK_MS)
  assert.notEqual(seen.at(-2), second)
  for (const stop of stops) stop()
  assert.equal(clock.pending(), 0)
  stops[0]?.()
  looks(() => {})
  assert.equal(clock.pending(), 1)
})
