/** What the caches keep of objects: a cluster has many that do not concern us. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../core/async.ts'
import type { Query } from '../../core/kube/client.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { labelsOf } from '../plan/names.ts'
import { createCache } from './cache.ts'

const ownerReferences = [{ apiVersion: 'v1', kind: 'Other', name: 'other', uid: 'o', controller: true }]
const metadata = { namespace: 'team', uid: 'u', resourceVersion: '7', ownerReferences }

test('a metadata-only cache keeps only names, versions, owners and our own annotations', async () => {
  const labels = { release: 'x'.repeat(1_000) }
  const theirs = { ...metadata, name: 'theirs', labels, annotations: { note: 'long' }, finalizers: ['x'] }
  const ours = {
    ...metadata,
    name: 'ours-catalog-0',
    labels: labelsOf('catalog', 'ours'),
    annotations: { 'portolan.dev/applied': 'a', 'portolan.dev/catalog-digest': 'd', note: 'long' },
  }
  const kept = await cacheOf({ metadataOnly: true }, theirs, ours)
  assert.deepEqual(kept.get('team/theirs')?.metadata, { ...metadata, name: 'theirs' })
  assert.deepEqual(kept.get('team/ours-catalog-0')?.metadata, {
    ...ours,
    annotations: { 'portolan.dev/applied': 'a', 'portolan.dev/catalog-digest': 'd' },
  })
})

test('a cache of whole objects keeps everything except managedFields and the copy that kubectl adds', async () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', note: 'kept' }
  const given = { ...metadata, name: 'whole', annotations, managedFields: [{}] }
  const kept = await cacheOf({}, given)
  assert.deepEqual(kept.get('team/whole')?.metadata, {
    ...metadata,
    name: 'whole',
    annotations: { note: 'kept' },
  })
})

/** A cache that has listed objects with this metadata. */
async function cacheOf(options: Partial<Query>, ...listed: KubeObject['metadata'][]) {
  const query = { apiVersion: 'v1', kind: 'ConfigMap', ...options }
  const items = listed.map(metadata => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata }))
  const client = {
    list: async () => ({ items, resourceVersion: '7' }) as never,
    watch: () => {
      throw new Error('the test is over')
    },
  }
  const log = createLog({ level: 'silent' })
  const cache = createCache({ client, query, namespaces: 'all', log, clock: systemClock })
  const stop = new AbortController()
  const running = cache.run(stop.signal)
  await cache.synced
  stop.abort()
  await running
  return cache
}
