/** What a gateway's status says about its callers, against a real API server: authentication, access, and a column for people. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Service } from '@kubernetes/client-node'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { runRouter, startRouter } from './router.ts'
import { conditionOf, createWorld, reasonOf } from './world.ts'

const skip = skipApiServer()
const router = { replicas: 1, debug: false }
const jwt = [{ name: 'login', issuer: 'https://login.example.com', audiences: ['a'] }]

const api = apiServerOfTests(skip)

const reasonsOf = (gateway: McpGateway) =>
  [reasonOf(gateway, 'AuthReady'), reasonOf(gateway, 'AccessResolved')].join()

test('a gateway without auth is reported as anonymous, and a rule that selects no server as without effect', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'callers')
  await world.server('one', { remote: { url: 'http://192.0.2.1/mcp' } })
  await world.gateway('tools', { router })
  await world.untilGateway('tools', gateway => reasonsOf(gateway) === 'Anonymous,NoRules')
  const access = [{ name: 'ops', servers: { matchLabels: { team: 'ops' } } }]
  await world.gateway('tools', { router, access } as object)
  const { status } = await world.untilGateway(
    'tools',
    gateway => reasonsOf(gateway) === 'Anonymous,RuleMatchesNothing',
  )
  assert.match(
    conditionOf(status, 'AccessResolved')?.message ?? '',
    /^spec\.access\[0\]\.servers: the rule "ops"/,
  )
  assert.deepEqual(status?.access, [{ name: 'ops', servers: 0, tools: 0 }])
})

test('what routers report of keys and rules becomes conditions, counts and a column', { skip }, async t => {
  const world = await createWorld(t, api().access, 'reported')
  await world.server('one', { remote: { url: 'http://192.0.2.1/mcp' } })
  const spec = { router, url: 'https://mcp.example.com', auth: { jwt }, access: [{ name: 'all' }] }
  await world.gateway('tools', spec as object)
  await world.untilGateway('tools', gateway => reasonsOf(gateway) === 'Starting,Resolved')
  const fakeRouter = await startRouter(t, '127.0.7.9')
  const report = { rules: [{ name: 'all', servers: 1, tools: 3 }], findings: [] }
  const says = (state: string, more: object = {}) =>
    fakeRouter.says({ generation: 1, access: { keys: [{ issuer: 'login', state, ...more }], report } })
  says('ready')
  await runRouter(world, 'tools', '127.0.7.9')
  const { status } = await world.untilGateway('tools', gateway => reasonsOf(gateway) === 'Ready,Resolved')
  assert.deepEqual(status?.access, [{ name: 'all', servers: 1, tools: 3 }])
  says('unavailable', { message: 'login.example.com answered 500' })
  const away = await world.untilGateway('tools', gateway => reasonsOf(gateway) === 'KeysUnavailable,Resolved')
  assert.match(conditionOf(away.status, 'AuthReady')?.message ?? '', /"login".*answered 500/)
  const [header, row] = (await api().kubectl(['get', 'mcpgateways', '-n', world.namespace])).split('\n')
  const at = header?.indexOf('AUTH') ?? -1
  assert.equal(row?.slice(at).split(/\s/)[0], 'KeysUnavailable', `${header}\n${row}`)
})

test('the admin port has its own Service, which stays a ClusterIP when that for agents is a NodePort', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'exposed')
  await world.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'callers' },
    stringData: { ci: 'x'.repeat(40) },
  } as KubeObject)
  const exposed = {
    router: { ...router, service: { type: 'NodePort' } },
    auth: { tokens: { secretName: 'callers' } },
  }
  await world.gateway('tools', exposed as object)
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Accepted')
  const portsOf = async (name: string) => {
    const service = await world.get<Kube<V1Service>>('v1', 'Service', name)
    return [service?.spec?.type, service?.spec?.ports?.map(({ name, port }) => `${name} ${port}`).join()]
  }
  assert.deepEqual(await portsOf('tools-gateway'), ['NodePort', 'http 80'])
  assert.deepEqual(await portsOf('tools-gateway-admin'), ['ClusterIP', 'admin 8081'])
  assert.deepEqual(await portsOf('tools-gateway-peers'), ['ClusterIP', 'admin 8081'])
  const peers = await world.get<Kube<V1Service>>('v1', 'Service', 'tools-gateway-peers')
  assert.equal(peers?.spec?.clusterIP, 'None')
})
