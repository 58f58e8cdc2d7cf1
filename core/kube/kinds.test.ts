/** The API paths of kinds and objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homePath, listPath, objectPath } from './kinds.ts'

const pod = { apiVersion: 'v1', kind: 'Pod' }
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
const namespace = { apiVersion: 'v1', kind: 'Namespace' }

test('a list path is for one namespace, all namespaces, or a kind without namespaces', () => {
  assert.equal(listPath(pod, 'team'), '/api/v1/namespaces/team/pods')
  assert.equal(listPath(deployment), '/apis/apps/v1/deployments')
  assert.equal(homePath(namespace), '/api/v1/namespaces')
})

test('a name cannot change the path to another resource', () => {
  assert.equal(listPath(pod, '../secrets'), '/api/v1/namespaces/..%2Fsecrets/pods')
  for (const name of ['', '.', '..']) {
    assert.throws(() => objectPath({ ...pod, namespace: 'team', name }), /not a valid object name/)
  }
})

test('an unknown kind, a missing namespace and a superfluous namespace are bugs', () => {
  assert.throws(() => listPath({ apiVersion: 'v1', kind: 'Node' }), /not in the table/)
  assert.throws(() => listPath(namespace, 'team'), /has no namespace/)
  assert.throws(() => homePath(pod), /needs a namespace/)
})
