/** Complete and incomplete sets of slices, from metadata only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import { ANNOTATION, labelsOf } from '../plan/names.ts'
import { SliceSets } from './slice-sets.ts'

const KEY = 'team/github'

function slice(part: number, digest: string, parts: number): KubeObject {
  const annotations = { [ANNOTATION.catalogDigest]: digest, [ANNOTATION.catalogParts]: String(parts) }
  const owner = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpServer', name: 'github', uid: 'u' }
  const metadata = {
    name: `github-catalog-${part}`,
    namespace: 'team',
    labels: labelsOf('catalog', 'github'),
    ownerReferences: [{ ...owner, controller: true }],
  }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...metadata, annotations } }
}

test('a set is complete when all its parts exist', () => {
  const sets = new SliceSets()
  assert.equal(sets.take(undefined, slice(0, 'a', 2)), undefined)
  assert.deepEqual([sets.whole(KEY), sets.isWhole(KEY), sets.isTorn(KEY)], [undefined, false, true])
  assert.equal(sets.take(undefined, slice(1, 'a', 2)), KEY)
  assert.deepEqual(
    [sets.whole(KEY), sets.isWhole(KEY), sets.isTorn(KEY)],
    [{ digest: 'a', parts: 2 }, true, false],
  )
})

test('while a new set is written, the last complete one is used', () => {
  const sets = new SliceSets()
  sets.take(undefined, slice(0, 'a', 2))
  sets.take(undefined, slice(1, 'a', 2))
  assert.equal(sets.take(slice(0, 'a', 2), slice(0, 'b', 2)), undefined)
  assert.deepEqual([sets.whole(KEY)?.digest, sets.isWhole(KEY)], ['a', false])
  assert.equal(sets.take(slice(1, 'a', 2), slice(1, 'b', 2)), KEY)
  assert.equal(sets.whole(KEY)?.digest, 'b')
})

test('a shorter set is complete although parts of the longer one still exist', () => {
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

test('a ConfigMap of another owner is ignored, whatever its labels', () => {
  const sets = new SliceSets()
  const real = slice(0, 'a', 1)
  const { ownerReferences: _, ...unowned } = real.metadata
  const foreign = [
    { ...real, metadata: { ...slice(0, 'b', 1).metadata, name: 'a-0' } },
    { ...real, metadata: { ...slice(0, 'b', 1).metadata, name: 'other-catalog-0' } },
    { ...real, metadata: { ...unowned, annotations: slice(0, 'b', 1).metadata.annotations } },
  ]
  for (const object of foreign) assert.equal(sets.take(undefined, object), undefined)
  assert.equal(sets.take(undefined, real), KEY)
  assert.equal(sets.whole(KEY)?.digest, 'a')
})

test('a slice without its labels still counts', () => {
  const sets = new SliceSets()
  const real = slice(0, 'a', 1)
  sets.take(undefined, real)
  assert.equal(sets.take(real, { ...real, metadata: { ...real.metadata, labels: {} } }), undefined)
  assert.equal(sets.whole(KEY)?.digest, 'a')
})
