/** A real API server accepts everything that is planned in the golden cases, and the pods in a restricted namespace. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1Deployment } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { type ApiServer, skipApiServer, startApiServer } from '../../test/support/api-server.ts'
import { NAMESPACE, planCases } from '../../test/support/plan-cases.ts'

const skip = skipApiServer()
/** Cases whose manifests ask for what a restricted namespace does not allow. */
const RELAXED = ['pod-merged', 'pod-host-pid', 'permitted', 'gateway-not-permitted']

const cases = planCases()
  .filter(({ refused }) => refused === undefined)
  .map(({ name, plans }) => ({ name, objects: plans.flatMap(plan => plan.objects) }))
let server: ApiServer

before(
  async () => {
    if (skip) return
    server = await startApiServer({ crds: false })
    await server.namespace(NAMESPACE, { 'pod-security.kubernetes.io/enforce': 'restricted' })
  },
  { timeout: 120_000 },
)
after(async () => {
  if (!skip) await server?.stop()
})

test('every object is accepted, and the API server knows all of its fields', { skip }, async () => {
  const options = ['--server-side', '--dry-run=server', '--validate=strict', '-o', 'name']
  // This API server has no Gateway API.
  const objects = cases.flatMap(({ objects }) => objects).filter(({ kind }) => kind !== 'HTTPRoute')
  const names = await server.kubectl(['apply', ...options, '-f', '-'], list(objects))
  assert.equal(names.trim().split('\n').length, objects.length)
  assert.equal(new Set(objects.map(({ kind }) => kind)).size, 11)
})

test('pods meet the restricted standard, unless their manifest relaxes them', { skip }, async () => {
  const allowed = cases.filter(({ name }) => !RELAXED.includes(name)).flatMap(podsOf)
  assert.ok(allowed.length > 10)
  const names = await create(allowed)
  assert.equal(names.trim().split('\n').length, allowed.length)
  const relaxed = cases.filter(({ name }) => RELAXED.includes(name)).flatMap(podsOf)
  await assert.rejects(create(relaxed), /violates PodSecurity "restricted/)
})

function create(pods: KubeObject[]): Promise<string> {
  return server.kubectl(
    ['create', '--dry-run=server', '--validate=strict', '-o', 'name', '-f', '-'],
    list(pods),
  )
}

function podsOf({ name, objects }: { name: string; objects: KubeObject[] }): KubeObject[] {
  const deployments = objects.filter(({ kind }) => kind === 'Deployment') as Kube<V1Deployment>[]
  return deployments.map(({ metadata, spec }, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    ...spec?.template,
    metadata: { ...spec?.template.metadata, name: `${name}-${index}`, namespace: metadata.namespace },
  }))
}

function list(items: KubeObject[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
