/** How soon the kubelet ends a container whose probe fails. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube } from '../../core/kube/object.ts'
import { planCase } from '../../test/support/plan-cases.ts'

function containerOf(manifest: string) {
  const { plans } = planCase('', `${manifest}\nmetadata: { name: a }\n---\nkind: World`)
  const deployment = plans[0]?.objects.find(({ kind }) => kind === 'Deployment') as Kube<V1Deployment>
  const { terminationGracePeriodSeconds = 0, containers = [] } = deployment.spec?.template.spec ?? {}
  return { ofPod: terminationGracePeriodSeconds, container: containers[0] }
}

test('a container that hangs is ended in half a minute, however long its pod may answer calls', () => {
  for (const manifest of [
    'kind: McpGateway\nspec: {}',
    'kind: McpServer\nspec: { npm: { package: a } }',
    'kind: McpServer\nspec: { image: { name: "a:1", transport: http, port: 80 } }',
  ]) {
    const { ofPod, container } = containerOf(manifest)
    assert.ok(ofPod > 600)
    assert.deepEqual(
      [container?.startupProbe, container?.livenessProbe, container?.readinessProbe].map(
        probe => probe?.terminationGracePeriodSeconds,
      ),
      // Kubernetes refuses it for readiness.
      [30, 30, undefined],
    )
  }
})
