/** Texts that are kept: for how long, and how many. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createTextStore, MAX_KEPT_BYTES, MAX_KEPT_TEXTS } from './store.ts'

const MINUTE = 60_000
const kept = (bytes: number) => ({ text: Buffer.alloc(bytes), partBytes: 1 })

test('a text is kept for ten minutes after its last read, and then its memory is released', () => {
  const clock = createManualClock()
  const store = createTextStore(clock)
  store.put('a', kept(10))
  clock.advance(6 * MINUTE)
  store.put('b', kept(20))
  assert.ok(store.get('a'))
  clock.advance(9 * MINUTE)
  assert.ok(store.get('a') && store.get('b'))
  clock.advance(10 * MINUTE)
  assert.deepEqual([store.get('a'), store.get('b'), store.bytes()], [undefined, undefined, 0])
  assert.equal(clock.pending(), 0)
})

test('memory is bounded: the least recently used texts are dropped first', () => {
  const store = createTextStore(createManualClock())
  const third = Math.floor(MAX_KEPT_BYTES / 3)
  for (const id of ['a', 'b', 'c']) store.put(id, kept(third))
  store.get('a')
  store.put('d', kept(third))
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map(id => store.get(id) !== undefined),
    [true, false, true, true],
  )
  assert.ok(store.bytes() <= MAX_KEPT_BYTES)
  store.put('whole', kept(MAX_KEPT_BYTES))
  assert.deepEqual([store.get('d'), store.bytes()], [undefined, MAX_KEPT_BYTES])
})

test('the number of texts is bounded too', () => {
  const store = createTextStore(createManualClock())
  for (let at = 0; at <= MAX_KEPT_TEXTS; at++) store.put(`${at}`, kept(1))
  assert.deepEqual([store.get('0'), store.bytes()], [undefined, MAX_KEPT_TEXTS])
  store.clear()
  assert.equal(store.bytes(), 0)
})
