/** What is served, counted and logged if a catalog cannot be built, or if what follows its swap fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../core/log.ts'
import { snapshotOf } from '../test/meta/fixture.ts'
import type { Catalog } from './catalog/catalog.ts'
import { createNewest } from './source/newest.ts'
import type { Snapshot, Source } from './source/source.ts'
import { createSwaps } from './swaps.ts'

/** Follows a source of these snapshots until its end. `fails`: at which generation, and where. */
async function follow(snapshots: Snapshot[], fails: { generation: number; at: 'equip' | 'swapped' }) {
  const served = createNewest<Catalog>()
  const seen = { reloaded: [] as number[], failed: 0, swapped: [] as number[] }
  const failAt = (at: 'equip' | 'swapped', { generation }: { generation: number }) => {
    if (at === fails.at && generation === fails.generation) throw new Error(`broken ${at}`)
  }
  const lines: { level: number; msg: string }[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const swaps = createSwaps({
    served,
    semantic: {
      adopt() {},
      // biome-ignore lint/correctness/useYield: there is nothing to yield for.
      *equip(catalog) {
        failAt('equip', catalog)
        return catalog
      },
    },
    onSwapped(catalog) {
      failAt('swapped', catalog)
      seen.swapped.push(catalog.generation)
    },
    metrics: {
      reloaded: catalog => void seen.reloaded.push(catalog.generation),
      reloadFailed: () => seen.failed++,
    },
    log: createLog({ level: 'warn', destination }),
  })
  const source = {
    async *watch() {
      yield* snapshots
    },
  } as Pick<Source, 'watch'> as Source
  await swaps.follow(source, new AbortController().signal)
  return { ...seen, served: served.current()?.generation, messages: lines.map(({ msg }) => msg) }
}

const SERVERS = { files: { offers: { tools: [{ name: 'read', inputSchema: {} }] } } }

test('if a catalog cannot be built, the last good one stays, and the next one is served', async () => {
  const snapshots = [1, 2, 3].map(generation => snapshotOf(SERVERS, {}, generation))
  const two = await follow(snapshots.slice(0, 2), { generation: 2, at: 'equip' })
  assert.deepEqual([two.served, two.reloaded, two.failed, two.swapped], [1, [1], 1, [1]])
  assert.match(two.messages.join(), /the last good one stays/)
  const three = await follow(snapshots, { generation: 2, at: 'equip' })
  assert.deepEqual([three.served, three.reloaded, three.failed, three.swapped], [3, [1, 3], 1, [1, 3]])
})

test('if what follows a swap fails, nobody is told that the last catalog is still served', async () => {
  const snapshots = [1, 2].map(generation => snapshotOf(SERVERS, {}, generation))
  const { served, reloaded, failed, messages } = await follow(snapshots, { generation: 2, at: 'swapped' })
  assert.deepEqual([served, reloaded, failed], [2, [1, 2], 1])
  assert.deepEqual(messages, ['catalog swapped, but the router could not adopt all of it'])
})
