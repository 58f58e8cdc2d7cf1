/** Which pods count as routers of a gateway: they receive the operator's token and the credential of the person at the page. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubeObject } from '../../core/kube/object.ts'
import type { Caches } from '../runtime/caches.ts'
import { createClusterView } from './cluster-view.ts'

const OURS = 'portolan.dev/v1alpha1'
const place = { namespace: 'team', name: 'tools' }
const HASH = '6b7f'

const controlledBy = (kind: string, name: string, uid: string) => [
  { apiVersion: kind === 'ReplicaSet' ? 'apps/v1' : OURS, kind, name, uid, controller: true },
]
const gateway = { apiVersion: OURS, kind: 'McpGateway', metadata: { ...place, uid: 'gateway' } }
const deployment = (owner: string) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: {
    ...{ namespace: 'team', name: 'tools-gateway' },
    ownerReferences: controlledBy('McpGateway', 'tools', owner),
  },
})
const pod = (name: string, ownerReferences?: object[], hash = HASH) => ({
  metadata: { namespace: 'team', name, labels: { 'pod-template-hash': hash }, ownerReferences },
  status: { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] },
})

function routersOf(pods: object[], made: KubeObject = deployment('gateway')): string[] {
  const cache = (key: string, object: object) => ({
    get: (wanted: string) => (wanted === key ? object : undefined),
    onChange: () => () => {},
  })
  const caches = {
    gateways: cache('team/tools', gateway),
    servers: cache('', {}),
    deployments: cache('team/tools-gateway', made),
    podsOf: () => pods,
  } as unknown as Caches
  return createClusterView(caches)
    .routers(place)
    .map(router => router.pod)
}

test('only pods of a ReplicaSet of the Deployment of the gateway are its routers, whatever the labels of others say', () => {
  const own = pod('own', controlledBy('ReplicaSet', `tools-gateway-${HASH}`, 'set'))
  const others = [
    pod('bare'),
    pod('owned', [{ ...controlledBy('ReplicaSet', `tools-gateway-${HASH}`, 'set')[0], controller: false }]),
    pod('of-job', controlledBy('Job', `tools-gateway-${HASH}`, 'job')),
    pod('of-other', controlledBy('ReplicaSet', `other-${HASH}`, 'set')),
    pod('of-longer', controlledBy('ReplicaSet', `tools-gateway-x-${HASH}`, 'set')),
    pod('no-hash', controlledBy('ReplicaSet', 'tools-gateway-', 'set'), ''),
  ]
  assert.deepEqual(routersOf([...others, own]), ['own'])
})

test('the pods of a Deployment that the gateway does not control are no routers', () => {
  const pods = [pod('own', controlledBy('ReplicaSet', `tools-gateway-${HASH}`, 'set'))]
  assert.deepEqual(routersOf(pods), ['own'])
  assert.deepEqual(routersOf(pods, deployment('earlier gateway of this name')), [])
})
