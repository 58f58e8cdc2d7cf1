/** Which values a cache with little room keeps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSizedCache } from './sized-cache.ts'

test('values stay until there is no room; those that were not used for longest go first', () => {
  const cache = createSizedCache<string>(6, value => value.length)
  cache.set('a', 'aa')
  cache.set('b', 'bb')
  cache.set('c', 'cc')
  assert.equal(cache.get('a'), 'aa')
  cache.set('d', 'ddd')
  assert.deepEqual(['a', 'b', 'c', 'd'].map(cache.get), ['aa', undefined, undefined, 'ddd'])
})

test('a value that is set again counts once, and the newest stays however large it is', () => {
  const cache = createSizedCache<string>(4, value => value.length)
  for (let times = 0; times < 10; times++) cache.set('a', 'aa')
  cache.set('b', 'bb')
  assert.equal(cache.get('a'), 'aa')
  cache.set('c', 'c'.repeat(100))
  assert.deepEqual(['a', 'b', 'c'].map(cache.get), [undefined, undefined, 'c'.repeat(100)])
  cache.set('d', 'd')
  assert.deepEqual(['c', 'd'].map(cache.get), [undefined, 'd'])
})
