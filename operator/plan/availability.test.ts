/** How many pods are planned while an autoscaler decides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { planCase } from '../../test/support/plan-cases.ts'

const GATEWAY =
  'kind: McpGateway\nspec: { router: { replicas: 1, autoscaling: { minReplicas: 2, maxReplicas: 10 } } }'

function plannedReplicas(manifest: string, replicas: number | undefined): number | undefined {
  const world = { kind: 'World', ...(replicas !== undefined && { deployment: { replicas } }) }
  const { plans } = planCase('', `${manifest}\nmetadata: { name: a }\n---\n${JSON.stringify(world)}`)
  const objects = plans[0]?.objects ?? []
  assert.ok(objects.some(({ kind }) => kind === 'HorizontalPodAutoscaler'))
  return (objects.find(({ kind }) => kind === 'Deployment') as Kube<V1Deployment>).spec?.replicas
}

test('an autoscaler starts from the existing replicas, within its bounds', () => {
  const planned = [undefined, 0, 1, 5, 50].map(current => plannedReplicas(GATEWAY, current))
  assert.deepEqual(planned, [2, 2, 2, 5, 10])
})
