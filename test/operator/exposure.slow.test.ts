/** Gateways that are reachable from outside: their Ingress and HTTPRoute are created, changed and deleted, also in a cluster that first has no Gateway API. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Ingress } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { HTTP_ROUTE } from '../../operator/plan/exposure.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { conditionOf, createWorld, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.4.0'
const ROUTES = 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'
const auth = { tokens: { secretName: 'callers' } } as McpGateway['spec']['auth']

type Expose = McpGateway['spec']['router']['expose']
type Route = KubeObject & { spec: { hostnames?: string[]; parentRefs: { name: string }[] } }

const api = apiServerOfTests(skip)

test('an Ingress is created, changed and deleted as the manifest says', { skip }, async t => {
  const world = await createWorld(t, api().access, 'by-ingress')
  await expose(world, { ingress: { host: 'a.example.com', className: 'nginx' } })
  const made = await until(() => ingress(world))
  assert.equal(made.spec?.rules?.[0]?.host, 'a.example.com')
  await expose(world, { ingress: { host: 'b.example.com' } })
  await until(async () => (await ingress(world))?.spec?.rules?.[0]?.host === 'b.example.com')
  await expose(world, undefined)
  await until(async () => (await ingress(world)) === undefined)
})

test('while no HTTPRoute can be made, the Ingress stays, and other objects that are not wanted are deleted', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'halfway')
  const autoscaling = { minReplicas: 2, maxReplicas: 4 }
  await expose(world, { ingress: { host: 'a.example.com' } }, { autoscaling })
  await until(() => ingress(world))
  await until(() => autoscaler(world))
  await expose(world, { gatewayAPI: { parentRefs: [{ name: 'public' }] } })
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Invalid')
  await until(async () => (await autoscaler(world)) === undefined)
  assert.ok(await ingress(world))
  await expose(world, undefined)
  await until(async () => (await ingress(world)) === undefined)
})

test('the status reports a missing Gateway API; once it is installed the route is created, and later deleted', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'by-route')
  const gatewayAPI = { parentRefs: [{ name: 'public', namespace: 'infra' }], hostnames: ['mcp.example.com'] }
  await expose(world, { gatewayAPI })
  const refused = await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Invalid')
  assert.match(
    conditionOf(refused.status, 'Accepted')?.message ?? '',
    /spec\.router\.expose\.gatewayAPI: .*no HTTPRoute of gateway\.networking\.k8s\.io\/v1: install/,
  )
  await api().kubectl(['apply', '--server-side', '-f', join(gatewayApiFolder(), ROUTES)])
  await api().kubectl(['wait', '--for=condition=Established', 'crd/httproutes.gateway.networking.k8s.io'])
  world.clock.advance(60_000)
  const made = await until(() => route(world))
  assert.deepEqual(made.spec.hostnames, ['mcp.example.com'])
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') !== 'Invalid')
  await expose(world, undefined)
  await until(async () => (await route(world)) === undefined)
})

/** The definitions as their project publishes them. */
function gatewayApiFolder(): string {
  const options = { cwd: tmpdir(), encoding: 'utf8' as const, env: { ...process.env, GOFLAGS: '-mod=mod' } }
  const { Dir } = JSON.parse(execFileSync('go', ['mod', 'download', '-json', GATEWAY_API], options))
  return Dir
}

function expose(world: World, expose: Expose | object, more: object = {}): Promise<McpGateway> {
  return world.gateway('tools', {
    auth,
    router: { replicas: 1, expose, ...more } as McpGateway['spec']['router'],
  })
}

function autoscaler(world: World) {
  return world.get('autoscaling/v2', 'HorizontalPodAutoscaler', 'tools-gateway')
}

function ingress(world: World) {
  return world.get<Kube<V1Ingress>>('networking.k8s.io/v1', 'Ingress', 'tools-gateway')
}

function route(world: World) {
  return world.get<Route>(HTTP_ROUTE.apiVersion, HTTP_ROUTE.kind, 'tools-gateway')
}
