/** The JSON form of Kubernetes objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment, V1NetworkPolicy } from '@kubernetes/client-node'
import { freeze, type Kube, keyOf, refOf } from './object.ts'

const deployment: Kube<V1Deployment> = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'team', creationTimestamp: '2026-11-22T00:00:00Z' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { spec: { containers: [{ name: 'main' }] } } },
}

test('an object has a key and a reference', () => {
  assert.equal(keyOf(deployment), 'team/web')
  assert.equal(keyOf({ metadata: { name: 'team' } }), 'team')
  assert.deepEqual(refOf(deployment), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace: 'team',
    name: 'web',
  })
})

test('freeze is deep', () => {
  const frozen = freeze(structuredClone(deployment))
  const container = frozen.spec?.template.spec?.containers[0]
  assert.throws(() => Object.assign(container ?? {}, { name: 'other' }), TypeError)
})

test('types have the field names of the JSON', () => {
  const policy: Kube<V1NetworkPolicy> = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'web' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
  }
  assert.deepEqual(Object.keys(policy.spec?.ingress?.[0] ?? {}), ['from'])
})
