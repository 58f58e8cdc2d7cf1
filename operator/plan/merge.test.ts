/** The manifest's pod, merged into the planned one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { merge } from './merge.ts'

test('maps merge, scalars replace, and neither argument is changed', () => {
  const ours = Object.freeze({ a: 1, b: Object.freeze({ c: 2, d: 3 }) })
  assert.deepEqual(merge(ours, { b: { c: 4 }, e: 5 }), { a: 1, b: { c: 4, d: 3 }, e: 5 })
  assert.deepEqual(ours, { a: 1, b: { c: 2, d: 3 } })
})

test('entries of the same name merge, others are appended', () => {
  const ours = { containers: [{ name: 'server', image: 'a', tty: true }] }
  const theirs = { containers: [{ name: 'sidecar' }, { name: 'server', image: 'b' }] }
  assert.deepEqual(merge(ours, theirs), {
    containers: [{ name: 'server', image: 'b', tty: true }, { name: 'sidecar' }],
  })
})

test('mounts are merged by path, and tolerations are appended', () => {
  const ours = { volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }], tolerations: [{ key: 'a' }] }
  const theirs = {
    volumeMounts: [
      { name: 'data', mountPath: '/tmp' },
      { name: 'tmp', mountPath: '/cache' },
    ],
    tolerations: [{ key: 'a' }],
  }
  assert.deepEqual(merge(ours, theirs), {
    volumeMounts: [
      { name: 'data', mountPath: '/tmp' },
      { name: 'tmp', mountPath: '/cache' },
    ],
    tolerations: [{ key: 'a' }, { key: 'a' }],
  })
})

test('spread constraints merge if both the topology and what happens otherwise are the same, as in the API of Kubernetes', () => {
  const ours = [{ topologyKey: 'host', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 1 }]
  const soft = { topologyKey: 'host', whenUnsatisfiable: 'ScheduleAnyway', maxSkew: 2 }
  const hard = { topologyKey: 'host', whenUnsatisfiable: 'DoNotSchedule', maxSkew: 5 }
  const merged = merge({ topologySpreadConstraints: ours }, { topologySpreadConstraints: [hard, soft] })
  assert.deepEqual(merged, { topologySpreadConstraints: [soft, hard] })
})

test('a variable or a volume is replaced as a whole, so that it never has two sources', () => {
  const ours = { env: [{ name: 'HOME', value: '/home' }], volumes: [{ name: 'home', emptyDir: {} }] }
  const theirs = {
    env: [{ name: 'HOME', valueFrom: {} }],
    volumes: [{ name: 'home', persistentVolumeClaim: { claimName: 'x' } }],
  }
  assert.deepEqual(merge(ours, theirs), theirs)
})

test('a list of plain values is replaced as a whole, by an empty one too', () => {
  assert.deepEqual(merge({ drop: ['ALL'] }, { drop: ['NET_RAW'] }), { drop: ['NET_RAW'] })
  assert.deepEqual(merge({ drop: ['ALL'] }, { drop: [] }), { drop: [] })
})

test('if types differ, the value of the manifest is used, and the API server reports what is wrong', () => {
  assert.deepEqual(merge({ containers: [{ name: 'server' }] }, { containers: 'x' }), { containers: 'x' })
})

test('merging never throws, and merging nothing changes nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (ours, theirs) => {
      merge(ours, theirs)
      assert.deepEqual(merge(ours, undefined), ours)
    }),
    { numRuns: 200 },
  )
})
