/** Events that are alike are merged, however many kinds of them there are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { createMerger } from './merge.ts'

type Event = { kind: string; who: string }

function merging() {
  const written: string[] = []
  const clock = createManualClock()
  const merger = createMerger<Event>({
    clock,
    keyOf: ({ kind, who }) => `${kind} ${who}`,
    ownerOf: () => '',
    blur: ({ kind }) => ({ kind, who: '' }),
    tell: ({ kind, who }, count) => written.push(`${kind} ${who} ${count ?? 1}`),
  })
  return { written, clock, merger }
}

test('of equal lines ten are written at once, and the others of the same second as a count', () => {
  const { written, clock, merger } = merging()
  for (let time = 0; time < 13; time++) merger.add({ kind: 'denied', who: 'ada' })
  assert.deepEqual(written, Array(10).fill('denied ada 1'))
  clock.advance(999)
  assert.equal(written.length, 10)
  clock.advance(1)
  assert.equal(written.at(-1), 'denied ada 3')
  clock.advance(5_000)
  assert.equal(written.length, 11)
  assert.equal(clock.pending(), 0)
})

test('beyond a thousand kinds a second details are dropped, and every event is still counted', () => {
  const { written, clock, merger } = merging()
  for (let at = 0; at < 5_000; at++) merger.add({ kind: 'denied', who: `caller-${at}` })
  assert.equal(written.length, 1_010)
  clock.advance(1_000)
  assert.equal(written.at(-1), 'denied  3990')
})
