/** What every Source promises, as tests to run over an implementation. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { packVectors, quantize } from '../../core/catalog/vectors.ts'
import type { Snapshot, Source } from '../../router/source/source.ts'
import { snapshotOf } from '../meta/fixture.ts'

/** A source under test, and the way to make a snapshot the newest one behind it. */
export type SourceUnderTest = {
  source: Source
  /** Resolves once the source has it, with the generation that it has there: a cluster chooses its own. */
  publish(snapshot: Snapshot): Promise<number> | number
}

type Promised = (under: SourceUnderTest) => Promise<void>

/** Declares the suite; `create` makes a fresh source for each test. */
export function testSourceContract(
  name: string,
  create: (t: TestContext) => Promise<SourceUnderTest> | SourceUnderTest,
): void {
  for (const [sentence, holds] of PROMISES) {
    test(`${name}: ${sentence}`, async t => holds(await create(t)))
  }
}

const PROMISES: readonly [string, Promised][] = [
  ['a watcher gets the newest snapshot at once, however long ago it was published', givesNewestAtOnce],
  ['a watcher that waits gets the next snapshot, and none twice', givesNextToWaiting],
  ['a slow watcher skips snapshots that are outdated and ends with the newest', skipsOutdated],
  ['an aborted watch ends, whether it was aborted before or while it waits', endsWhenAborted],
  ['equal catalogs are the same object from one snapshot to the next, others are not', keepsEqualCatalogs],
  [
    'a catalog that gets vectors later is a new object with them, and other catalogs stay the same',
    bringsVectors,
  ],
  ['each of two watchers gets a new snapshot', givesToAll],
]

async function givesNewestAtOnce({ source, publish }: SourceUnderTest): Promise<void> {
  await publish(snapshot(1))
  const newest = await publish(snapshot(2))
  const { stop, watching } = watch(source)
  assert.equal((await watching.next()).value?.generation, newest)
  stop.abort()
  assert.equal((await watching.next()).done, true)
}

async function givesNextToWaiting({ source, publish }: SourceUnderTest): Promise<void> {
  const { stop, watching } = watch(source)
  for (const number of [1, 5]) {
    const next = watching.next()
    const generation = await publish(snapshot(number))
    assert.equal((await next).value?.generation, generation)
  }
  const none = watching.next()
  stop.abort()
  assert.equal((await none).done, true)
}

async function skipsOutdated({ source, publish }: SourceUnderTest): Promise<void> {
  const stop = new AbortController()
  const first = await publish(snapshot(1))
  let last = 0
  const seen: number[] = []
  for await (const { generation } of source.watch(stop.signal)) {
    seen.push(generation)
    if (generation === first) for (const next of [2, 3, 4]) last = await publish(snapshot(next))
    if (generation === last) stop.abort()
  }
  assert.deepEqual(seen, [first, last])
}

async function endsWhenAborted({ source }: SourceUnderTest): Promise<void> {
  for await (const _ of source.watch(AbortSignal.abort())) assert.fail('nothing was published')
  const { stop, watching } = watch(source)
  const next = watching.next()
  stop.abort()
  assert.equal((await next).done, true)
}

async function givesToAll({ source, publish }: SourceUnderTest): Promise<void> {
  const watchers = [watch(source), watch(source)]
  const all = Promise.all(watchers.map(({ watching }) => watching.next()))
  const generation = await publish(snapshot(7))
  assert.deepEqual(
    (await all).map(({ value }) => value?.generation),
    [generation, generation],
  )
  for (const { stop } of watchers) stop.abort()
}

async function keepsEqualCatalogs({ source, publish }: SourceUnderTest): Promise<void> {
  const offering = (name: string) => ({ offers: { tools: [{ name, inputSchema: { type: 'object' } }] } })
  const known = snapshotOf({ files: offering('read'), git: offering('log') }, {}, 1)
  const changed = snapshotOf({ git: offering('show') }, {}, 2)
  await publish(known)
  const { stop, watching } = watch(source)
  const before = (await watching.next()).value?.catalogs
  await publish({ ...known, generation: 2, catalogs: new Map([...known.catalogs, ...changed.catalogs]) })
  const after = (await watching.next()).value?.catalogs
  assert.deepEqual(before, known.catalogs)
  assert.equal(after?.get('files'), before?.get('files'))
  assert.deepEqual(after?.get('git'), changed.catalogs.get('git'))
  stop.abort()
}

async function bringsVectors({ source, publish }: SourceUnderTest): Promise<void> {
  const tools = [{ name: 'read', inputSchema: { type: 'object' } }]
  const known = snapshotOf({ disk: { offers: { tools } }, mail: { offers: { tools } } }, {}, 1)
  await publish(known)
  const { stop, watching } = watch(source)
  const before = (await watching.next()).value?.catalogs
  const vectors = packVectors('hashing/1', new Map([['key', quantize([1, 0, -1])]]))
  const disk = { ...(known.catalogs.get('disk') ?? assert.fail()), vectors }
  await publish({ ...known, generation: 2, catalogs: new Map([...known.catalogs, ['disk', disk]]) })
  const after = (await watching.next()).value?.catalogs
  assert.deepEqual([before?.get('disk')?.vectors, after?.get('disk')], [undefined, disk])
  assert.equal(after?.get('mail'), before?.get('mail'))
  stop.abort()
}

function watch(source: Source) {
  const stop = new AbortController()
  return { stop, watching: source.watch(stop.signal)[Symbol.asyncIterator]() }
}

function snapshot(generation: number): Snapshot {
  return snapshotOf({ files: {} }, {}, generation)
}
