/** Manifests that the API server stores are read although another version of the operator wrote their status. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManifests } from './parsed-manifests.ts'

const OURS = 'portolan.dev/v1alpha1'
const metadata = { name: 'a', namespace: 'team', uid: '1', generation: 1 }
const remote = { url: 'https://example.com/mcp' }

test('a status with fields of a newer operator does not take a server or gateway away', () => {
  const manifests = createManifests()
  const status = { observedGeneration: 1, later: { wanted: 1 } }
  const server = { apiVersion: OURS, kind: 'McpServer', metadata, spec: { remote }, status }
  const gateway = { apiVersion: OURS, kind: 'McpGateway', metadata, spec: {}, status }
  assert.deepEqual(manifests.server(server).manifest?.status, { observedGeneration: 1 })
  assert.deepEqual(manifests.gateway(gateway).manifest?.status, { observedGeneration: 1 })
  const unknown = { ...server, spec: { remote, later: 1 } }
  assert.deepEqual(
    manifests.server(unknown).problems?.map(({ path }) => path),
    ['spec.later'],
  )
})
