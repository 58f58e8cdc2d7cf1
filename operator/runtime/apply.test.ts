/** What deletions by others and rules of the cluster do to writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, errorOfAnswer, isConflict, isDenied } from '../../core/kube/api-error.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { type ApplierOptions, createApplier } from './apply.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

const owner = { apiVersion: 'v1', kind: 'McpServer', metadata: { name: 'a', namespace: 'team', uid: '1' } }
const wanted = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'mcp-a', namespace: 'team' } }

function applyWith(client: ApplierOptions['client']) {
  const log = createLog({ level: 'silent' })
  const metrics = createOperatorMetrics()
  const applier = createApplier({ client, log, metrics, fieldManager: 'portolan-server' })
  return applier.apply(owner, [wanted], () => undefined, new AbortController().signal)
}

test('if an object is deleted while fields of others are removed from it, the write is tried again, and not refused', async () => {
  const fieldsV1 = { 'f:spec': { 'f:paused': {} } }
  const found: KubeObject = {
    ...wanted,
    metadata: {
      ...wanted.metadata,
      uid: '2',
      managedFields: [
        { manager: 'kubectl-edit', operation: 'Update', fieldsV1 },
        { manager: 'portolan-server', operation: 'Apply', fieldsV1 },
      ],
      ownerReferences: [{ apiVersion: 'v1', kind: 'McpServer', name: 'a', uid: '1', controller: true }],
    },
  }
  // As the API server answers when the object is deleted after the second read.
  const client = {
    get: async <T extends KubeObject>() => found as T,
    patchMetadata: () => Promise.reject(new ApiError(404, 'NotFound', 'deployments "mcp-a" not found')),
    apply: () => Promise.reject(new ApiError(409, 'Conflict', 'uid mismatch: no existing object was found')),
    delete: () => assert.fail(),
  }
  await assert.rejects(applyWith(client), isConflict)
})

test('what an admission policy or webhook denies with 422 is denied, not invalid', async () => {
  const answered = (message: string) =>
    applyWith({
      get: async () => undefined,
      patchMetadata: () => assert.fail(),
      apply: () => Promise.reject(errorOfAnswer(422, JSON.stringify({ kind: 'Status', code: 422, message }))),
      delete: () => assert.fail(),
    })
  for (const denial of [
    `deployments.apps "mcp-a" is forbidden: ValidatingAdmissionPolicy 'costs' with binding 'costs' denied request: set the label costs`,
    'admission webhook "costs.example.com" denied the request: set the label costs',
  ])
    await assert.rejects(answered(denial), isDenied)
  const { refused } = await answered('Deployment.apps "mcp-a" is invalid: spec.replicas: Invalid value: -1')
  assert.match(refused ?? '', /is invalid/)
})
