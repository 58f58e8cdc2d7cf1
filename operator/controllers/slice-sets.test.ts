/** Whole and torn sets of slices, told by metadata alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import { ANNOTATION, labelsOf } from '../plan/names.ts'
import { SliceSets } from './slice-sets.ts'

const KEY = 'team/github'

function slice(part: number, digest: string, parts: number): KubeObject {
  const annotations = { [ANNOTATION.catalogDigest]: digest, [ANNOTATION.catalogParts]: String(parts) }
  const metadata = {
    name: `github-catalog-${part}`,
    namespace: 'team',
    labels: labelsOf('catalog', 'github'),
  }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, annotations } }
}

test('a set counts once all its parts are there', () => {
  const sets = new SliceSets()
  assert.equal(sets.take(undefined, slice(0, 'a', 2)), undefined)
  assert.deepEqual([sets.whole(KEY), sets.isWhole(KEY), sets.isTorn(KEY)], [undefined, false, true])
  assert.equal(sets.take(undefined, slice(1, 'a', 2)), KEY)
  assert.deepEqual(
    [sets.whole(KEY), sets.isWhole(KEY), sets.isTorn(KEY)],
    [{ digest: 'a', parts: 2 }, true, false],
  )
})

test('while a new set is written the last whole one is named', () => {
  const sets = new SliceSets()
  sets.take(undefined, slice(0, 'a', 2))
  sets.take(undefined, slice(1, 'a', 2))
  assert.equal(sets.take(slice(0, 'a', 2), slice(0, 'b', 2)), undefined)
  assert.deepEqual([sets.whole(KEY)?.digest, sets.isWhole(KEY)], ['a', false])
  assert.equal(sets.take(slice(1, 'a', 2), slice(1, 'b', 2)), KEY)
  assert.equal(sets.whole(KEY)?.digest, 'b')
})

test('a shorter set is whole though parts of the longer one still stand', () => {
  const sets = new SliceSets()
  sets.take(undefined, slice(0, 'a', 2))
  sets.take(undefined, slice(1, 'a', 2))
  assert.equal(sets.take(slice(0, 'a', 2), slice(0, 'b', 1)), KEY)
  assert.equal(sets.take(slice(1, 'a', 2), undefined), undefined)
  assert.deepEqual(sets.whole(KEY), { digest: 'b', parts: 1 })
})

test('a set that is deleted is gone', () => {
  const sets = new SliceSets()
  sets.take(undefined, slice(0, 'a', 1))
  assert.equal(sets.take(slice(0, 'a', 1), undefined), KEY)
  assert.deepEqual([sets.whole(KEY), sets.isTorn(KEY)], [undefined, false])
})

test('other ConfigMaps, and slices without a digest, make no set', () => {
  const sets = new SliceSets()
  const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'team' } }
  assert.equal(sets.take(undefined, other), undefined)
  const bare = slice(0, 'a', 1)
  assert.equal(sets.take(undefined, { ...bare, metadata: { ...bare.metadata, annotations: {} } }), undefined)
  assert.equal(sets.whole(KEY), undefined)
})
