/** The feed of a gateway fits into its ConfigMap, however large its servers are. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { V1ConfigMap, V1Role } from '@kubernetes/client-node'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import type { Kube } from '../../core/kube/object.ts'
import { parseManifest } from '../../crds/parse.ts'
import type { McpServer } from '../../crds/server.ts'
import { SETTINGS } from '../../test/support/plan-cases.ts'
import { gatewayStatus } from './gateway-status.ts'
import type { GatewayWorld } from './plan.ts'
import { planGateway } from './plan-gateway.ts'

const API = { apiVersion: 'portolan.dev/v1alpha1' }
/** What a ConfigMap may have. */
const MAX_BYTES = 1024 * 1024

/** Text of 8,000 characters that compresses badly. */
function noise(seed: string): string {
  const parts = Array.from({ length: 187 }, (_, at) => createHash('sha256').update(`${seed} ${at}`))
  return parts
    .map(part => part.digest('base64'))
    .join('')
    .slice(0, 8_000)
}

/** A server with this many overrides of 8,000 characters, and a header from the Secret of its name. */
function server(name: string, overrides: number): McpServer {
  const entries = Array.from({ length: overrides }, (_, at) => [
    `t${at}`,
    { description: noise(`${name} ${at}`) },
  ])
  const headers = [{ name: 'Authorization', valueFrom: { secretKeyRef: { name, key: 'token' } } }]
  const spec = {
    remote: { url: `http://${name}/mcp` },
    headers,
    tools: { overrides: Object.fromEntries(entries) },
  }
  const { manifest } = parseManifest({
    ...API,
    kind: 'McpServer',
    metadata: { name, namespace: 'team' },
    spec,
  })
  assert.ok(manifest?.kind === 'McpServer')
  return manifest
}

function planOf(servers: McpServer[]) {
  const metadata = { name: 'gw', namespace: 'team' }
  const { manifest: gateway } = parseManifest({ ...API, kind: 'McpGateway', metadata, spec: {} })
  assert.ok(gateway?.kind === 'McpGateway')
  const none = {
    slices: new Map(),
    references: [],
    descriptionTokens: new Map(),
    pods: [],
    reports: [],
    taken: [],
  }
  const world: GatewayWorld = { ...none, gateway, servers, settings: SETTINGS, now: 0 }
  const plan = planGateway(world)
  const objectOf = (kind: string) => plan.objects.find(object => object.kind === kind)
  const bytes = Buffer.from((objectOf('ConfigMap') as Kube<V1ConfigMap>).binaryData?.feed ?? '', 'base64')
  const named = (objectOf('Role') as Kube<V1Role>).rules?.flatMap(rule => rule.resourceNames ?? []) ?? []
  const { conditions } = gatewayStatus(world, plan)
  return {
    plan,
    bytes,
    names: decodeFeed(bytes).config.servers.map(({ name }) => name),
    named,
    condition: (wanted: string) => conditions.find(({ type }) => type === wanted),
  }
}

test('the largest servers are left out of a feed that would be too large, and the gateway names them', () => {
  const small = Array.from({ length: 20 }, (_, at) => server(`small${at}`, 1))
  const large = [...'abcdefg'].map(name => server(name, 24 + name.charCodeAt(0) - 97))
  const { bytes, names, named, condition, plan } = planOf([...small, ...large])
  assert.ok(bytes.length < MAX_BYTES, `${bytes.length} bytes`)
  assert.deepEqual(
    names.filter(name => name.length === 1),
    ['a', 'b', 'c', 'd', 'e'],
  )
  assert.equal(names.length, 25)
  assert.deepEqual([named.includes('e'), named.includes('f')], [true, false])
  assert.deepEqual(plan.refusals, [])
  const accepted = condition('Accepted')
  assert.deepEqual([accepted?.status, accepted?.reason], ['True', 'TooLarge'])
  assert.match(
    accepted?.message ?? '',
    /McpServer g is left out: .* 1023 KiB .*\(2\d\d KiB before .* Shorten its tools\.overrides.*McpServer f/,
  )
})

test('a feed that fits has all servers, and one that loses its only server does not blame the selector', () => {
  const { names, condition } = planOf([server('a', 24), server('b', 24)])
  assert.deepEqual([names, condition('Accepted')?.reason], [['a', 'b'], 'Accepted'])
  const manyPatterns = Array.from({ length: 1_000 }, (_, at) => noise(`pattern ${at}`).slice(0, 256))
  const only = server('only', 31)
  const huge = {
    ...only,
    spec: {
      ...only.spec,
      headers: Array.from({ length: 100 }, (_, at) => ({ name: `h${at}`, value: noise(`header ${at}`) })),
      tools: { ...only.spec.tools, allow: manyPatterns, deny: manyPatterns },
    },
  }
  const alone = planOf([huge])
  assert.deepEqual(alone.names, [])
  const ready = alone.condition('Ready')
  assert.equal(ready?.reason, 'TooLarge')
  assert.match(ready?.message ?? '', /McpServer only is left out/)
})
