/** The state of servers that a page gets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drive, snapshotOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { buildCatalog, type Catalog } from '../catalog/catalog.ts'
import { createCatalogDigest } from './catalog-digest.ts'
import { createServerPast } from './server-past.ts'
import { type StateFacts, serversOf } from './state.ts'

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
}

test('of the invalid tools of a server the first are sent, and how many more there are', () => {
  const offers = { tools: [], resources: [], resourceTemplates: [], prompts: [] }
  const catalog = drive(buildCatalog(snapshotOf({ kit: { offers }, sound: { offers } }, {}, 1), undefined))
  const invalid = Array.from({ length: 20_000 }, (_none, at) => ({ name: `tool ${at}`, reason: 'no schema' }))
  const list = catalog.catalogs.get('kit')
  const broken = { ...catalog, catalogs: new Map([...catalog.catalogs, ['kit', { ...list, invalid }]]) }
  const [kit, sound] = serversOf(broken as Catalog, FACTS)
  assert.deepEqual(kit?.invalid, invalid.slice(0, 20))
  assert.equal(kit?.moreInvalid, 19_980)
  assert.deepEqual([sound?.invalid, sound?.moreInvalid], [[], undefined])
})
