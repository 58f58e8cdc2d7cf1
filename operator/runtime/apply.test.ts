/** What a deletion by others does to a write that is under way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, isConflict } from '../../core/kube/api-error.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { createApplier } from './apply.ts'
import { createOperatorMetrics } from './operator-metrics.ts'

test('if an object is deleted while fields of others are removed from it, the write is tried again, and not refused', async () => {
  const owner = { apiVersion: 'v1', kind: 'McpServer', metadata: { name: 'a', namespace: 'team', uid: '1' } }
  const wanted = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'mcp-a', namespace: 'team' } }
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
  const log = createLog({ level: 'silent' })
  const metrics = createOperatorMetrics()
  const applier = createApplier({ client, log, metrics, fieldManager: 'portolan-server' })
  const { signal } = new AbortController()
  await assert.rejects(
    applier.apply(owner, [wanted], () => undefined, signal),
    isConflict,
  )
})
