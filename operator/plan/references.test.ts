/** What servers refer to, and what changes if it changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mcpGatewaySchema } from '../../crds/gateway.ts'
import { API_VERSION } from '../../crds/object-meta.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpServer, McpServerSpecInput } from '../../crds/server.ts'
import type { Reference } from './plan.ts'
import {
  connectionInputs,
  gatewayReferences,
  indexReferences,
  missingReferences,
  podInputs,
  referencesOf,
} from './references.ts'

const secretKeyRef = (name: string, optional?: boolean) => ({
  valueFrom: { secretKeyRef: { name, key: 'k', optional } },
})
const mixed = server({
  image: { name: 'a:1', transport: 'http', port: 80 },
  env: [
    { name: 'A', ...secretKeyRef('shared') },
    { name: 'B', valueFrom: { configMapKeyRef: { name: 'config', key: 'k' } } },
  ],
  envFrom: [{ secretRef: { name: 'whole' } }],
  headers: [
    { name: 'X', ...secretKeyRef('shared') },
    { name: 'Y', ...secretKeyRef('header') },
  ],
  auth: { oauth: { tokenUrl: 'https://id', clientId: 'a', clientSecretRef: { name: 'oauth', key: 'k' } } },
})

test('every object is named once, in order, and so is the Secret with the token of a bridged server', () => {
  const names = referencesOf(mixed).map(({ kind, name }) => `${kind}/${name}`)
  assert.deepEqual(names, [
    'ConfigMap/config',
    'Secret/header',
    'Secret/oauth',
    'Secret/shared',
    'Secret/whole',
  ])
  assert.deepEqual(referencesOf(server({ npm: { package: 'a' } })), [{ kind: 'Secret', name: 'mcp-a' }])
})

test('of the objects that a gateway names, ConfigMaps of auth are needed whole', () => {
  const auth = { tokens: { secretName: 'callers' }, revoked: { configMapName: 'revoked' } }
  const names = gatewayReferences(
    mcpGatewaySchema.parse({
      apiVersion: API_VERSION,
      kind: 'McpGateway',
      metadata: { name: 'a' },
      spec: { servers: {}, auth },
    }),
  )
  assert.deepEqual(names, [
    { kind: 'ConfigMap', name: 'revoked', whole: true },
    { kind: 'Secret', name: 'callers' },
  ])
})

test('the bearer token may be missing, since the operator creates it', () => {
  assert.deepEqual(missingReferences(server({ npm: { package: 'a' } }), new Map()), [])
})

test('optional objects and keys may be missing', () => {
  const optional = server({ npm: { package: 'a' }, env: [{ name: 'A', ...secretKeyRef('x', true) }] })
  assert.deepEqual(missingReferences(optional, new Map()), [])
  assert.deepEqual(missingReferences(optional, world({ x: '1' }, 'other')), [])
})

test('a changed header needs a new connection, but no new pods', () => {
  const before = world({ header: '1', shared: '1', whole: '1', oauth: '1' })
  const after = world({ header: '2', shared: '1', whole: '1', oauth: '1' })
  assert.notEqual(connectionInputs(mixed, before), connectionInputs(mixed, after))
  assert.equal(podInputs(mixed, before), podInputs(mixed, after))
})

test('a changed variable needs a new connection and new pods', () => {
  const [before, after] = [world({ whole: '1' }), world({ whole: '2' })]
  assert.notEqual(connectionInputs(mixed, before), connectionInputs(mixed, after))
  assert.notEqual(podInputs(mixed, before), podInputs(mixed, after))
})

test('a key that nothing names has no effect, unless its whole Secret is named', () => {
  const env = [{ name: 'A', ...secretKeyRef('x') }]
  const both = (...digests: string[]) => {
    const [k = '', other = ''] = digests
    return indexReferences([{ kind: 'Secret', name: 'x', exists: true, digests: { k, other } }])
  }
  const single = server({ npm: { package: 'a' }, env })
  const whole = server({ npm: { package: 'a' }, envFrom: [{ secretRef: { name: 'x' } }] })
  assert.equal(podInputs(single, both('1', '1')), podInputs(single, both('1', '2')))
  assert.equal(connectionInputs(single, both('1', '1')), connectionInputs(single, both('1', '2')))
  assert.notEqual(podInputs(whole, both('1', '1')), podInputs(whole, both('1', '2')))
})

test('pods are not replaced while one of their Secrets or required keys is missing; an optional key may be removed', () => {
  const required = server({ npm: { package: 'a' }, env: [{ name: 'A', ...secretKeyRef('x') }] })
  const optional = server({ npm: { package: 'a' }, env: [{ name: 'A', ...secretKeyRef('x', true) }] })
  for (const missing of [world({}), world({ x: '1' }, 'other'), world({ x: '2' }, 'k', false)]) {
    assert.equal(podInputs(required, missing, 'current'), 'current')
  }
  assert.equal(podInputs(optional, world({}), 'current'), 'current')
  assert.notEqual(podInputs(optional, world({ x: '1' }, 'other'), 'current'), 'current')
  assert.notEqual(podInputs(required, world({ x: '2' }), 'current'), 'current')
})

test('while an optional Secret is absent, pods are replaced when another one changes, and not when it comes back as it was', () => {
  const both = server({
    npm: { package: 'a' },
    env: [
      { name: 'A', ...secretKeyRef('optional', true) },
      { name: 'B', ...secretKeyRef('required') },
    ],
  })
  const never = podInputs(both, world({ required: '1' }))
  assert.equal(podInputs(both, world({ required: '1' }), never), never)
  assert.notEqual(podInputs(both, world({ required: '2' }), never), never)
  const there = podInputs(both, world({ optional: '1', required: '1' }))
  assert.equal(podInputs(both, afterDeletion('1', '1'), there), there)
  const changed = podInputs(both, afterDeletion('1', '2'), there)
  assert.notEqual(changed, there)
  assert.equal(podInputs(both, world({ optional: '1', required: '2' }), changed), changed)
})

test('a bearer token that is created after its server replaces no pods', () => {
  const npm = server({ npm: { package: 'a' } })
  assert.equal(podInputs(npm, new Map()), podInputs(npm, world({ 'mcp-a': '7' })))
})

/** The optional Secret was deleted, and its last content is known. */
function afterDeletion(optional: string, required: string) {
  return new Map([...world({ optional }, 'k', false), ...world({ required })])
}

function world(contents: Record<string, string>, key = 'k', exists = true) {
  const references = Object.entries(contents).map(
    ([name, content]): Reference => ({ kind: 'Secret', name, exists, digests: { [key]: content } }),
  )
  return indexReferences(references)
}

function server(spec: McpServerSpecInput): McpServer {
  const metadata = { name: 'a', namespace: 'team' }
  const { manifest, problems } = parseManifest({ apiVersion: API_VERSION, kind: 'McpServer', metadata, spec })
  assert.ok(manifest?.kind === 'McpServer', JSON.stringify(problems))
  return manifest
}
