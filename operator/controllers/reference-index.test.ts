/** Which servers a change of a Secret or ConfigMap affects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReferenceIndex } from './reference-index.ts'

const login = { kind: 'Secret', name: 'login' } as const
const urls = { kind: 'ConfigMap', name: 'urls' } as const

test('only servers that name an object, in its namespace, are found', () => {
  const index = new ReferenceIndex()
  index.set('a/one', 'a', [login, urls])
  index.set('a/two', 'a', [login])
  index.set('b/three', 'b', [login])
  assert.deepEqual(index.users('Secret', 'a', 'login'), ['a/one', 'a/two'])
  assert.deepEqual(index.users('ConfigMap', 'a', 'urls'), ['a/one'])
  assert.deepEqual(index.users('ConfigMap', 'a', 'login'), [])
})

test('a server that now names something else, or is gone, is no longer found', () => {
  const index = new ReferenceIndex()
  index.set('a/one', 'a', [login])
  index.set('a/one', 'a', [urls])
  assert.deepEqual(
    [index.users('Secret', 'a', 'login'), index.users('ConfigMap', 'a', 'urls')],
    [[], ['a/one']],
  )
  index.set('a/one', 'a', [])
  assert.deepEqual(index.users('ConfigMap', 'a', 'urls'), [])
})
