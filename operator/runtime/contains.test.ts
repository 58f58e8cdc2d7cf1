/** What counts as drift. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contains } from './contains.ts'

const desired = {
  metadata: { labels: { app: 'a' } },
  spec: { replicas: 1, containers: [{ name: 'server', args: ['--port', '8080'] }], volumes: [] },
}

test('fields that the API server added are no difference', () => {
  const observed = {
    metadata: { labels: { app: 'a', more: 'b' }, uid: '1' },
    spec: {
      replicas: 1,
      containers: [{ name: 'server', args: ['--port', '8080'], stdin: false }],
      paused: false,
    },
    status: {},
  }
  assert.equal(contains(observed, desired), true)
})

test('a desired empty object must exist, an empty list need not, and an undefined value is not compared', () => {
  assert.equal(contains({}, { emptyDir: {} }), false)
  assert.equal(contains({}, { volumes: [], nothing: undefined }), true)
  assert.equal(contains({ volumes: ['more'] }, { volumes: [] }), false)
})

test('another value, order, length or type is a difference', () => {
  for (const change of [
    { metadata: { labels: {} } },
    { spec: { ...desired.spec, replicas: 2 } },
    { spec: { ...desired.spec, replicas: '1' } },
    { spec: { ...desired.spec, containers: [] } },
    { spec: { ...desired.spec, containers: [{ name: 'server', args: ['8080', '--port'] }] } },
    { spec: { ...desired.spec, containers: [...desired.spec.containers, { name: 'other' }] } },
    { spec: undefined },
  ]) {
    assert.equal(contains({ ...desired, ...change }, desired), false, JSON.stringify(change))
  }
})
