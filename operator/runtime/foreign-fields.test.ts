/** Fields of others, as managedFields record them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject, ManagedFields } from '../../core/kube/object.ts'
import { adopt, foreignEntries } from './foreign-fields.ts'

const OWN: ManagedFields = {
  manager: 'portolan-server',
  operation: 'Apply',
  fieldsV1: { 'f:spec': { 'f:replicas': {} } },
}

function deployment(...managedFields: ManagedFields[]): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'mcp-a', managedFields } }
}

test('fields of the cluster, subresources, annotations and our own managers are not foreign', () => {
  const spec = { 'f:spec': { 'f:replicas': {} } }
  const restart = { 'f:template': { 'f:metadata': { 'f:annotations': { 'f:restartedAt': {} } } } }
  const harmless: ManagedFields[] = [
    OWN,
    { manager: 'portolan-discovery', operation: 'Apply', fieldsV1: spec },
    { manager: 'kube-controller-manager', operation: 'Update', fieldsV1: spec },
    { manager: 'autoscaler', operation: 'Update', subresource: 'scale', fieldsV1: spec },
    { manager: 'kubectl-rollout', operation: 'Update', fieldsV1: { 'f:spec': restart } },
    { manager: 'kubectl-annotate', operation: 'Update', fieldsV1: { 'f:metadata': { 'f:annotations': {} } } },
  ]
  assert.deepEqual(foreignEntries(deployment(...harmless)), [])
  assert.equal(adopt(deployment(...harmless), 'portolan-server'), undefined)
  const pod = { ...deployment({ manager: 'kubectl', operation: 'Update', fieldsV1: spec }), kind: 'Pod' }
  assert.deepEqual(foreignEntries(pod), [])
})

test('we take over fields that others set, except their annotations', () => {
  const item = { 'k:{"name":"server"}': { '.': {}, 'f:image': {} } }
  const theirs: ManagedFields = {
    manager: 'kubectl-edit',
    operation: 'Update',
    fieldsV1: {
      'f:metadata': { 'f:annotations': { 'f:note': {} } },
      'f:spec': { 'f:template': { 'f:spec': { 'f:containers': item } } },
    },
  }
  const adopted = adopt(deployment(OWN, theirs), 'portolan-server')
  assert.deepEqual(adopted?.managers, ['kubectl-edit'])
  assert.deepEqual(adopted?.fields, ['spec.template.spec.containers[{"name":"server"}].image'])
  assert.deepEqual(
    adopted?.managedFields.map(({ manager, fieldsV1 }) => [manager, fieldsV1]),
    [
      ['kubectl-edit', { 'f:metadata': { 'f:annotations': { 'f:note': {} } } }],
      [
        'portolan-server',
        { 'f:spec': { 'f:replicas': {}, 'f:template': { 'f:spec': { 'f:containers': item } } } },
      ],
    ],
  )
})
