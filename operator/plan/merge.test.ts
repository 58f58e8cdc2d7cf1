/** What a manifest says of a pod, merged into what we make. */
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
  const theirs = { containers: [{ name: 'beside' }, { name: 'server', image: 'b' }] }
  assert.deepEqual(merge(ours, theirs), {
    containers: [{ name: 'server', image: 'b', tty: true }, { name: 'beside' }],
  })
})

test('mounts are told apart by their path, and tolerations by nothing', () => {
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

test('a variable or a volume is replaced as a whole, so that it never is two things at once', () => {
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

test('where the kinds differ the manifest wins, and the API server says what is wrong with it', () => {
  assert.deepEqual(merge({ containers: [{ name: 'server' }] }, { containers: 'x' }), { containers: 'x' })
})

test('nothing that is merged makes it throw, and merging nothing changes nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (ours, theirs) => {
      merge(ours, theirs)
      assert.deepEqual(merge(ours, undefined), ours)
    }),
    { numRuns: 200 },
  )
})
