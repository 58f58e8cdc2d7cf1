/** When a server can be discovered, according to its Deployment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import type { Kube } from '../../core/kube/object.ts'
import { mcpServerSchema } from '../../crds/server.ts'
import { ANNOTATION } from '../plan/names.ts'
import type { Cache } from '../runtime/cache.ts'
import type { Target } from './discovery-targets.ts'
import { servingOf } from './serving.ts'

const server = mcpServerSchema.parse({
  apiVersion: 'portolan.dev/v1alpha1',
  kind: 'McpServer',
  metadata: { name: 'web', namespace: 'team' },
  spec: { npm: { package: 'web' } },
})
const endpoint = endpointOf(server, 'cluster')
if (endpoint.kind !== 'http') throw new Error('no endpoint over HTTP')
const target: Target = { server, endpoint, revision: 'new' }

type Counts = {
  replicas?: number
  updatedReplicas?: number
  readyReplicas?: number
  observedGeneration?: number
}

function serving(revision: string, counts: Counts): string {
  const template = { metadata: { annotations: { [ANNOTATION.revision]: revision } } }
  const status = { replicas: 1, updatedReplicas: 1, readyReplicas: 1, observedGeneration: 2, ...counts }
  const metadata = { name: 'mcp-web', namespace: 'team', generation: 2 }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { selector: {}, template },
    status,
  }
  const get = (key: string) => (key === 'team/mcp-web' ? (deployment as Kube<V1Deployment>) : undefined)
  return servingOf(target, { deployments: { get } as Cache<Kube<V1Deployment>> } as never)
}

test('one ready pod of the applied template is enough', () => {
  assert.equal(serving('new', {}), 'serving')
  assert.equal(serving('new', { replicas: 3, updatedReplicas: 3, readyReplicas: 1 }), 'serving')
})

test('while pods of another template may answer, discovery waits', () => {
  assert.equal(serving('old', {}), 'updating')
  assert.equal(serving('new', { observedGeneration: 1 }), 'updating')
  assert.equal(serving('new', { replicas: 2, updatedReplicas: 1 }), 'updating')
})

test('a server without a ready pod is down, and a remote server never is', () => {
  assert.equal(serving('new', { readyReplicas: 0 }), 'down')
  assert.equal(servingOf(target, { deployments: { get: () => undefined } } as never), 'down')
  const { revision: _, ...elsewhere } = target
  assert.equal(servingOf(elsewhere, { deployments: { get: () => undefined } } as never), 'serving')
})
