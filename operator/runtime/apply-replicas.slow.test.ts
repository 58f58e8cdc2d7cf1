/** A number of replicas that an autoscaler sets while the operator writes the Deployment, at a real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import { isConflict } from '../../core/kube/api-error.ts'
import { type Kube, type KubeObject, refOf } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { apiServerOfTests, skipApiServer } from '../../test/support/api-server.ts'
import { createApplier } from './apply.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

const skip = skipApiServer()
const api = apiServerOfTests(skip)
const never = new AbortController().signal

test('a number of replicas is not written over a newer one than the plan knew, and a decided one is', {
  skip,
}, async () => {
  await api().namespace('team')
  const { client } = api()
  const metadata = { name: 'scaled', namespace: 'team' }
  const remote = { url: 'http://127.0.0.1/mcp' }
  const server = { apiVersion: 'portolan.dev/v1alpha1', kind: 'McpServer', metadata, spec: { remote } }
  const owner = await client.create<KubeObject>(server)
  const log = createLog({ level: 'silent' })
  const applier = createApplier({
    ...{ client, log, metrics: createOperatorMetrics() },
    fieldManager: 'portolan-gateway',
  })
  const read = () => client.get<Kube<V1Deployment>>(refOf(deployment(2, 'one')))
  const scale = (replicas: number) =>
    api().kubectl(['scale', '--namespace=team', 'deployment/scaled', `--replicas=${replicas}`])
  await applier.apply(owner, [deployment(2, 'one')], () => undefined, never)
  const { metadata: planned } = (await read()) ?? assert.fail()
  await scale(5)
  // The applier may know the newer object that the plan did not know yet.
  const newer = await read()
  const apply = (object: KubeObject) => applier.apply(owner, [object], () => newer, never)
  await assert.rejects(apply(deployment(2, 'two', planned.resourceVersion)), isConflict)
  assert.equal((await read())?.spec?.replicas, 5)
  await apply(deployment(5, 'two', newer?.metadata.resourceVersion))
  await apply(deployment(3, 'two'))
  assert.equal((await read())?.spec?.replicas, 3)
})

function deployment(replicas: number, image: string, resourceVersion?: string): KubeObject {
  const labels = { app: 'scaled' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'router', image }] } }
  const spec = { replicas, selector: { matchLabels: labels }, template }
  const metadata = { name: 'scaled', namespace: 'team', ...(resourceVersion && { resourceVersion }) }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec } as KubeObject
}
