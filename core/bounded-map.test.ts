/** Which entries a bounded map evicts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from './bounded-map.ts'

test('a map at its limit evicts the entry that was set longest ago', () => {
  const map = new BoundedMap<number>(2)
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  map.set('c', 4)
  assert.deepEqual([map.get('a'), map.get('b'), map.get('c')], [3, undefined, 4])
  map.delete('a')
  assert.equal(map.get('a'), undefined)
})
