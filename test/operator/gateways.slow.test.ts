/** Gateways from manifest to what their routers are fed, against a real API server and real MCP servers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { V1ConfigMap, V1Deployment, V1Role } from '@kubernetes/client-node'
import type { RouterFeed } from '../../core/catalog/feed.ts'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import type { McpGateway } from '../../crds/gateway.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { startReplay } from '../upstreams/replay/replay.ts'
import { runRouter, startRouter } from './router.ts'
import { conditionOf, createWorld, isReady, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const DIGEST = /^[0-9a-f]{16}$/
const catalogs = ['one', 'two', 'three'].map(name => ({
  name,
  protocolVersion: '2025-11-25',
  serverInfo: { name, version: '1' },
  capabilities: { tools: {} },
  tools: [{ name: `do_${name}`, description: `Does ${name}`, inputSchema: { type: 'object' } }],
}))

const api = apiServerOfTests(skip)
let replay: Awaited<ReturnType<typeof startReplay>>

before(async () => {
  if (!skip) replay = await startReplay({ catalogs })
})
after(() => replay?.close())

test('a gateway with an invalid setting for its pods is not accepted, and the condition names the field', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'refused')
  await world.gateway('tools', {
    router: { replicas: 1, debug: false, resources: { limits: { memory: 'much' } } },
  })
  const { status } = await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Invalid')
  assert.match(conditionOf(status, 'Accepted')?.message ?? '', /spec\.router/)
})

test('a gateway that asks for token reviews that are not enabled runs no router, even if it ran some before', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'protected')
  await world.server('one', { remote: { url: replay.url('one') } })
  const router = { replicas: 1, debug: false }
  const replicas = async () =>
    (await world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', 'tools-gateway'))?.spec?.replicas
  await world.gateway('tools', { router })
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Ready') === 'Starting')
  await until(async () => (await replicas()) === 1)
  await world.gateway('tools', {
    router,
    auth: {
      anonymous: 'Deny',
      jwt: [],
      tokenExchangeOrigins: [],
      serviceAccounts: { audiences: ['a'], review: '60s' },
    },
  })
  const { status } = await world.untilGateway(
    'tools',
    gateway => reasonOf(gateway, 'Accepted') === 'NotEnforced',
  )
  assert.match(conditionOf(status, 'Accepted')?.message ?? '', /spec\.auth.*tokenReview\.enabled/)
  assert.equal(await replicas(), 0)
  assert.ok(await world.get('v1', 'Service', 'tools-gateway'))
  await world.gateway('tools', { router })
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Accepted')
  assert.equal(await replicas(), 1)
})

test('the feed of a router has the servers that its gateway selects, with digests of their lists', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'fed')
  await world.apply(secret('login', { token: 'secret value' }))
  const headers = [{ name: 'X-Token', valueFrom: { secretKeyRef: { name: 'login', key: 'token' } } }]
  await world.server('one', { remote: { url: replay.url('one') }, headers }, team('a'))
  await world.server('two', { remote: { url: replay.url('two') } }, team('b'))
  await world.gateway('all')
  await world.gateway('only-b', selecting('b'))

  const all = await untilFed(world, 'all', ['one', 'two'])
  const one = await world.until('one', isReady)
  assert.equal(all.slices.one?.digest, one.status?.tools?.digest)
  assert.match(all.secrets.login ?? '', DIGEST)
  assert.ok(!JSON.stringify(all).includes('secret value'))
  const role = await world.get<Kube<V1Role>>('rbac.authorization.k8s.io/v1', 'Role', 'all-gateway')
  const names = role?.rules?.flatMap(({ resourceNames = [] }) => resourceNames).sort()
  assert.deepEqual(names, ['all-router', 'login', 'one-catalog-0', 'two-catalog-0'])

  const onlyB = await untilFed(world, 'only-b', ['two'])
  assert.deepEqual(Object.keys(onlyB.slices), ['two'])
  // A server is in the feed as soon as its lists are stored, which is before its status says that it is ready.
  await Promise.all(['one', 'two'].map(name => world.until(name, isReady)))
  await world.quiet()
  const feed = await world.get('v1', 'ConfigMap', 'all-router')
  const { status } = await world.untilGateway('all', gateway => gateway.status?.servers?.ready === 2)
  assert.equal(status?.generation, Number(feed?.metadata.resourceVersion))
  assert.deepEqual([status?.servers, status?.tools], [{ selected: 2, ready: 2 }, 2])
})

test('a changed label or a deletion removes a server from gateways, and a label adds it again', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'labels')
  await world.gateway('a', selecting('a'))
  await world.gateway('b', selecting('b'))
  await world.untilGateway('a', gateway => reasonOf(gateway, 'Ready') === 'NoServersSelected')
  await world.server('one', { remote: { url: replay.url('one') } }, team('a'))
  await untilFed(world, 'a', ['one'])
  await world.server('one', { remote: { url: replay.url('one') } }, team('b'))
  await Promise.all([untilFed(world, 'a', []), untilFed(world, 'b', ['one'])])
  await world.delete('McpServer', 'one')
  await untilFed(world, 'b', [], [])
})

test('a gateway sees no server of another namespace', { skip }, async t => {
  const world = await createWorld(t, api().access, 'here')
  const other = await createWorld(t, api().access, 'there')
  await other.server('two', { remote: { url: replay.url('two') } })
  await other.until('two', isReady)
  await world.gateway('all')
  await world.server('one', { remote: { url: replay.url('one') } })
  await untilFed(world, 'all', ['one'])
})

test('a gateway is ready when an MCP handshake at its URL succeeds, and shows what each router serves', {
  skip,
}, async t => {
  const front = await startSdk1('stateless')
  t.after(() => front.close())
  const asked: string[] = []
  const gateway: typeof connectSdkClient = (url, signal) => {
    asked.push(url)
    return connectSdkClient(front.url, signal)
  }
  const world = await createWorld(t, api().access, 'routers', { connectors: { gateway } })
  await world.server('one', { remote: { url: replay.url('one') } })
  await world.gateway('tools', { router: { replicas: 1, debug: false } })
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Ready') === 'Starting')

  const router = await startRouter(t, '127.0.7.1')
  await runRouter(world, 'tools', '127.0.7.1')
  const hasTools = ({ status }: McpGateway) => (status?.tools ?? 0) > 0
  const { status } = await world.untilGateway('tools', gateway => isReady(gateway) && hasTools(gateway))
  assert.deepEqual(asked, ['http://tools-gateway.routers.svc/mcp'])
  assert.deepEqual(status?.routers, [{ pod: 'tools-router', generation: 1 }])
  assert.deepEqual([status?.tokens?.exposed, typeof status?.tokens?.saved], [5, 'string'])
  const newest = status?.generation ?? 0
  const loading = { semantic: 'off', reason: 'the encoder is being loaded', pending: 7 }
  router.says({ generation: newest, exposedTokens: 5, search: loading })
  const up = await world.untilGateway('tools', gateway => gateway.status?.routers?.[0]?.generation === newest)
  assert.equal(up.status?.search, undefined)
  router.says({ generation: newest, exposedTokens: 5, search: { semantic: 'embedded', pending: 7 } })
  await world.untilGateway('tools', gateway => gateway.status?.search?.semantic === 'embedded')
})

test('a router that gets no new configuration for 30 s, or reports that it is refused, makes the gateway not Ready', {
  skip,
}, async t => {
  const front = await startSdk1('stateless')
  t.after(() => front.close())
  const gateway: typeof connectSdkClient = (_url, signal) => connectSdkClient(front.url, signal)
  const world = await createWorld(t, api().access, 'stale', { connectors: { gateway } })
  await world.server('one', { remote: { url: replay.url('one') } })
  await world.until('one', isReady)
  await world.gateway('tools', { router: { replicas: 1, debug: false } })
  await untilFed(world, 'tools', ['one'])
  const router = await startRouter(t, '127.0.7.2')
  await runRouter(world, 'tools', '127.0.7.2')
  router.says({ generation: 1 })
  await world.untilGateway('tools', ({ status }) => status?.routers?.[0]?.generation === 1)
  await world.quiet()
  world.clock.advance(31_000)
  const behind = await world.untilGateway('tools', gateway => reasonOf(gateway, 'Ready') === 'RouterStale')
  assert.match(
    conditionOf(behind.status, 'Ready')?.message ?? '',
    /^Router tools-router .* generation 1, not \d+$/,
  )

  const newest = behind.status?.generation ?? 0
  router.says({ generation: newest })
  world.clock.advance(31_000)
  await world.untilGateway('tools', isReady)
  router.says({ generation: newest, stale: 'The API server answered 401: Unauthorized' })
  world.clock.advance(31_000)
  const refused = await world.untilGateway('tools', gateway => reasonOf(gateway, 'Ready') === 'RouterStale')
  assert.match(
    conditionOf(refused.status, 'Ready')?.message ?? '',
    /^Router tools-router .*401: Unauthorized$/,
  )
})

test('routers are replaced if their ServiceAccount is, since the tokens of the old one are refused', {
  skip,
}, async t => {
  const world = await createWorld(t, api().access, 'accounts')
  await world.gateway('tools')
  const template = async () => {
    const found = await world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', 'tools-gateway')
    return found?.spec?.template.metadata?.annotations?.['portolan.dev/service-account']
  }
  const account = async () =>
    (await world.get('v1', 'ServiceAccount', 'tools-gateway'))?.metadata.uid ?? 'deleted'
  await until(template)
  const before = await account()
  assert.equal(await template(), before)
  await world.delete('ServiceAccount', 'tools-gateway')
  await until(async () => (await template()) !== before)
  assert.equal(await template(), await account())
})

test('the Secret of an embeddings service is in the feed once it exists', { skip }, async t => {
  const world = await createWorld(t, api().access, 'embeddings')
  await world.server('one', { remote: { url: replay.url('one') } })
  const secretRef = { name: 'key', key: 'token' }
  const embeddings = { url: 'https://embeddings.example.com/v1', model: 'small', secretRef }
  await world.gateway('tools', { search: { semantic: 'auto', embeddings } })
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'SecretNotFound')
  await world.apply(secret('key', { other: 'x' }))
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'KeyNotFound')
  await world.apply(secret('key', { token: 'x' }))
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'Accepted')
  const feed = await untilFed(world, 'tools', ['one'])
  assert.deepEqual(Object.keys(feed.secrets), ['key'])
  assert.match(feed.secrets.key ?? '', DIGEST)
  assert.deepEqual(feed.config.search.embeddings?.secret, secretRef)
})

test('a gateway whose object names are taken changes nothing', { skip }, async t => {
  const world = await createWorld(t, api().access, 'occupied')
  const theirs = await world.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'tools-router' },
    data: { whose: 'theirs' },
  } as KubeObject)
  await world.gateway('tools')
  await world.untilGateway('tools', gateway => reasonOf(gateway, 'Accepted') === 'NameTaken')
  const still = await world.get('v1', 'ConfigMap', 'tools-router')
  assert.equal(still?.metadata.resourceVersion, theirs.metadata.resourceVersion)
  assert.equal(await world.get('apps/v1', 'Deployment', 'tools-gateway'), undefined)
})

function team(name: string): { labels: Record<string, string> } {
  return { labels: { team: name } }
}

function selecting(name: string): object {
  return { servers: { selector: { matchLabels: { team: name } } } }
}

function secret(name: string, values: Record<string, string>): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: values } as KubeObject
}

/** The feed once it names these servers, and a list of each. */
function untilFed(
  world: World,
  gateway: string,
  servers: string[],
  listed: string[] = servers,
): Promise<RouterFeed> {
  return until(`the feed of ${gateway} has ${servers} and lists of ${listed}`, async () => {
    const found = await world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', `${gateway}-router`)
    const text = found?.binaryData?.feed
    const feed = text ? decodeFeed(Buffer.from(text, 'base64')) : undefined
    const names = feed?.config.servers.map(({ name }) => name)
    if (feed && `${names}` === `${servers}` && `${Object.keys(feed.slices)}` === `${listed}`) return feed
    throw new Error(JSON.stringify(feed))
  })
}
