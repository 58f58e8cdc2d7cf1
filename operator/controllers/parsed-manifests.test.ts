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

test('manifests nested a hundred thousand levels deep have a problem, which is remembered', () => {
  const manifests = createManifests()
  const depth = 100_000
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)
  const code = 'export default () => 1'
  const specs = {
    server: { image: { name: 'web:1' }, pod: deep },
    gateway: { router: { pod: deep } },
    script: { description: 'x', inputSchema: deep, code },
  }
  for (const [kind, name] of [
    ['server', 'McpServer'],
    ['gateway', 'McpGateway'],
    ['script', 'McpScript'],
  ] as const) {
    const object = { apiVersion: OURS, kind: name, metadata, spec: specs[kind] }
    const { problems } = manifests[kind](object)
    assert.deepEqual(
      problems?.map(({ path, message }) => `${path} ${message}`),
      ['spec is nested more than 100 levels deep'],
    )
    assert.equal(manifests[kind](object).problems, problems)
  }
})

test('a manifest that cannot be read has a problem, which is remembered', () => {
  const manifests = createManifests()
  const spec = {
    get remote(): never {
      throw new RangeError('a bug')
    },
  }
  const object = { apiVersion: OURS, kind: 'McpServer', metadata, spec }
  const { problems } = manifests.server(object)
  assert.deepEqual(problems, [{ reason: 'Invalid', message: 'cannot be read: a bug' }])
  assert.equal(manifests.server(object).problems, problems)
})
