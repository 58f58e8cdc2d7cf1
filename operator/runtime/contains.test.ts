/** What counts as drift. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contains } from './contains.ts'

const desired = {
  metadata: { labels: { app: 'a' } },
  spec: { replicas: 1, containers: [{ name: 'server', args: ['--port', '8080'] }], volumes: [] },
}

test('what the API server added does not count', () => {
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

test('an empty object must be there, an empty list need not, an absent value is no wish', () => {
  assert.equal(contains({}, { emptyDir: {} }), false)
  assert.equal(contains({}, { volumes: [], nothing: undefined }), true)
  assert.equal(contains({ volumes: ['more'] }, { volumes: [] }), false)
})

test('another value, another order, one item more or less, and another type are drift', () => {
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
