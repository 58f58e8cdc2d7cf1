/** What every Source promises, as tests to run over an implementation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Snapshot, Source } from '../../router/source/source.ts'
import { snapshotOf } from '../meta/fixture.ts'

/** A source under test, and the way to make a snapshot the newest one behind it. */
export type SourceUnderTest = { source: Source; publish(snapshot: Snapshot): Promise<void> | void }

type Promised = (under: SourceUnderTest) => Promise<void>

/** Declares the suite; `create` makes a fresh source for each test. */
export function testSourceContract(
  name: string,
  create: () => Promise<SourceUnderTest> | SourceUnderTest,
): void {
  for (const [sentence, holds] of PROMISES) {
    test(`${name}: ${sentence}`, async () => holds(await create()))
  }
}

const PROMISES: readonly [string, Promised][] = [
  ['a watcher gets the newest snapshot at once, however long ago it was published', givesNewestAtOnce],
  ['a watcher that waits is told of the next snapshot, and of none twice', tellsWhoWaits],
  ['a slow watcher skips what was overtaken and ends with the newest', skipsOvertaken],
  ['an aborted watch ends, whether it was aborted before or while it waits', endsWhenAborted],
  ['watchers do not take snapshots from one another', tellsAll],
]

async function givesNewestAtOnce({ source, publish }: SourceUnderTest): Promise<void> {
  await publish(snapshot(1))
  await publish(snapshot(2))
  const { stop, watching } = watch(source)
  assert.equal((await watching.next()).value?.generation, 2)
  stop.abort()
  assert.equal((await watching.next()).done, true)
}

async function tellsWhoWaits({ source, publish }: SourceUnderTest): Promise<void> {
  const { stop, watching } = watch(source)
  for (const generation of [1, 5]) {
    const next = watching.next()
    await publish(snapshot(generation))
    assert.equal((await next).value?.generation, generation)
  }
  const none = watching.next()
  stop.abort()
  assert.equal((await none).done, true)
}

async function skipsOvertaken({ source, publish }: SourceUnderTest): Promise<void> {
  const stop = new AbortController()
  await publish(snapshot(1))
  const seen: number[] = []
  for await (const { generation } of source.watch(stop.signal)) {
    seen.push(generation)
    if (generation === 1) for (const next of [2, 3, 4]) await publish(snapshot(next))
    if (generation === 4) stop.abort()
  }
  assert.deepEqual(seen, [1, 4])
}

async function endsWhenAborted({ source }: SourceUnderTest): Promise<void> {
  for await (const _ of source.watch(AbortSignal.abort())) assert.fail('nothing was published')
  const { stop, watching } = watch(source)
  const next = watching.next()
  stop.abort()
  assert.equal((await next).done, true)
}

async function tellsAll({ source, publish }: SourceUnderTest): Promise<void> {
  const watchers = [watch(source), watch(source)]
  const all = Promise.all(watchers.map(({ watching }) => watching.next()))
  await publish(snapshot(7))
  assert.deepEqual(
    (await all).map(({ value }) => value?.generation),
    [7, 7],
  )
  for (const { stop } of watchers) stop.abort()
}

function watch(source: Source) {
  const stop = new AbortController()
  return { stop, watching: source.watch(stop.signal)[Symbol.asyncIterator]() }
}

function snapshot(generation: number): Snapshot {
  return snapshotOf({ files: {} }, {}, generation)
}
