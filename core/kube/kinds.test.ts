/** Where the API server keeps the objects of a kind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homePath, listPath, objectPath } from './kinds.ts'

const pod = { apiVersion: 'v1', kind: 'Pod' }
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
const namespace = { apiVersion: 'v1', kind: 'Namespace' }

test('lists are of one namespace, of all, or of kinds without one', () => {
  assert.equal(listPath(pod, 'team'), '/api/v1/namespaces/team/pods')
  assert.equal(listPath(deployment), '/apis/apps/v1/deployments')
  assert.equal(homePath(namespace), '/api/v1/namespaces')
})

test('a name cannot lead to another path', () => {
  assert.equal(listPath(pod, '../secrets'), '/api/v1/namespaces/..%2Fsecrets/pods')
  for (const name of ['', '.', '..']) {
    assert.throws(() => objectPath({ ...pod, namespace: 'team', name }), /no name of an object/)
  }
})

test('a kind that is not in the table, and a namespace too many or too few, are bugs', () => {
  assert.throws(() => listPath({ apiVersion: 'v1', kind: 'Node' }), /not in the table/)
  assert.throws(() => listPath(namespace, 'team'), /has no namespace/)
  assert.throws(() => homePath(pod), /needs a namespace/)
})
