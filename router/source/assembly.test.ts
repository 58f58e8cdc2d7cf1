/** When a snapshot is published: complete if that is fast, otherwise in parts, but never the first one incomplete. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import { snapshotOf } from '../../test/meta/fixture.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createAssembly } from './assembly.ts'
import { LastGood } from './last-good.ts'
import type { Snapshot } from './source.ts'

const { config, catalogs: known } = snapshotOf({ files: { offers: {} }, git: { offers: {} } }, {}, 1)
const BOTH = new Map([
  ['files', '1'],
  ['git', '1'],
])

test('the first snapshot waits for everything, for up to 10 s', async () => {
  const { adopt, kept, answer, clock, seen } = begin()
  adopt(5, BOTH)
  await answer('files')
  await answer('git', new Fault('io', 'not yet'))
  clock.advance(9_999)
  await answer('git', new Fault('io', 'not yet'))
  assert.deepEqual(await seen(), undefined)
  assert.deepEqual(kept.missing(), ['git'])
  clock.advance(1)
  assert.deepEqual(await seen(), [5, 'files'])
})

test('parts that are late follow in a snapshot of the same generation', async () => {
  const { adopt, answer, clock, seen } = begin()
  adopt(5, BOTH)
  await answer('files')
  await answer('git', new Fault('io', 'not yet'))
  clock.advance(10_000)
  await answer('git')
  assert.deepEqual(await seen(), [5, 'files', 'git'])
})

test('a later config waits briefly for new parts, and not for those that failed', async () => {
  const { adopt, answer, clock, seen } = begin()
  adopt(5, new Map())
  assert.deepEqual(await seen(), [5])
  adopt(6, BOTH)
  await answer('files')
  assert.deepEqual(await seen(), [5])
  await answer('git', new Fault('io', 'not yet'))
  assert.deepEqual(await seen(), [6, 'files'])
  adopt(7, new Map([...BOTH, ['git', '2']]))
  clock.advance(249)
  assert.deepEqual(await seen(), [6, 'files'])
  clock.advance(1)
  assert.deepEqual(await seen(), [7, 'files'])
})

test('a config without changed lists is published at once, also if its number is lower', async () => {
  const { adopt, answer, seen } = begin()
  adopt(5, new Map([['files', '1']]))
  await answer('files')
  adopt(8, new Map([['files', '1']]))
  assert.deepEqual(await seen(), [8, 'files'])
  adopt(3, new Map())
  assert.deepEqual(await seen(), [8])
})

test('only wanted parts are read, again if their version changed, and at most 16 at once', async () => {
  const { adopt, kept, answer, reading } = begin()
  const many = Array.from({ length: 20 }, (_, at) => [`server-${at}`, '1'] as const)
  adopt(1, new Map(many))
  assert.equal(reading().length, 16)
  adopt(2, new Map([['files', '1']]))
  for (const [server] of many.slice(0, 16)) await answer(server)
  assert.deepEqual(reading(), ['files@1'])
  adopt(3, new Map([['files', '2']]))
  await answer('files')
  assert.deepEqual(reading(), ['files@2'])
  assert.equal(kept.get('files'), undefined)
  await answer('files')
  assert.deepEqual(reading(), [])
  assert.equal(kept.get('files'), known.get('files'))
})

/** An assembly over reads that the test answers. */
function begin() {
  const clock = createManualClock()
  const open: { key: string; version: string; settle: (fault?: Fault) => void }[] = []
  const read = (key: string, version: string) =>
    new Promise<ServerCatalog>((resolve, reject) => {
      const settle = (fault?: Fault) => (fault ? reject(fault) : resolve(known.get(key) as ServerCatalog))
      open.push({ key, version, settle })
    })
  const kept = new LastGood({
    what: 'slices',
    read,
    onProgress: () => assembly.progress(),
    log: createLog({ level: 'silent' }),
    clock,
    random: () => 0.5,
  })
  const assembly = createAssembly({ catalogs: kept, clock })
  const turn = () => new Promise<void>(resolve => setImmediate(resolve))
  return {
    clock,
    kept,
    adopt(generation: number, wanted: Map<string, string>) {
      kept.want(wanted)
      assembly.adopt(generation, config)
    },
    async answer(key: string, fault?: Fault) {
      for (let turns = 0; turns < 10 && !open.some(one => one.key === key); turns++) await turn()
      const at = open.findIndex(one => one.key === key)
      assert.ok(at >= 0, `${key} is not being read`)
      open.splice(at, 1)[0]?.settle(fault)
      await turn()
    },
    reading: () => open.map(({ key, version }) => `${key}@${version}`),
    /** Generation and servers with a list of the newest snapshot. */
    async seen(): Promise<unknown[] | undefined> {
      await turn()
      const stop = new AbortController()
      const watching = assembly.watch(stop.signal)[Symbol.asyncIterator]()
      const next = watching.next()
      await turn()
      stop.abort()
      const value = (await next).value as Snapshot | undefined
      return value && [value.generation, ...[...value.catalogs.keys()].sort()]
    },
  }
}
