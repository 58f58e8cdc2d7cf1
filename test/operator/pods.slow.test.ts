/** Servers that run as pods, whose Deployments say what a test wants them to say: a real API server, real MCP servers. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1ConfigMap, V1Deployment, V1Secret } from '@kubernetes/client-node'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import type { Kube, KubeObject } from '../../core/kube/object.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { conditionOf, createWorld, isReady, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const npm = { package: 'web', version: '1.0.0' }

const api = apiServerOfTests(skip)

test("discovery goes through the Service with the server's token, once a pod is ready", { skip }, async t => {
  const { world, tokens, upstream } = await podWorld(t, 'bearer')
  await world.server('web', { npm })
  await untilDeployment(world, () => true)
  const starting = await world.until('web', server => reasonOf(server, 'Ready') === 'Starting')
  assert.deepEqual(starting.status?.replicas, { wanted: 1, ready: 0, why: 'scaling.min' })
  assert.deepEqual(upstream.log, [])
  await world.roll('mcp-web', 1)
  const { status } = await world.until('web', isReady)
  assert.deepEqual([status?.tools?.count, status?.replicas], [6, { wanted: 1, ready: 1, why: 'scaling.min' }])
  const secret = await world.get<Kube<V1Secret>>('v1', 'Secret', 'mcp-web')
  const token = Buffer.from(secret?.data?.token ?? '', 'base64').toString()
  assert.deepEqual([...tokens], [token])
  assert.equal(token.length, 43)
})

test('pods are created once, since the Secret with the bearer token exists before them', {
  skip,
}, async t => {
  const { world } = await podWorld(t, 'once')
  await world.server('web', { npm })
  await untilDeployment(world, () => true)
  await world.quiet()
  const deployment = await world.get('apps/v1', 'Deployment', 'mcp-web')
  assert.equal(deployment?.metadata.generation, 1)
})

for (const [what, pod] of [
  ['of a wrong type', { nodeSelector: 'fast' }],
  ['with an invalid value', { restartPolicy: 'Sometimes' }],
] as const) {
  test(`a field of spec.pod ${what} is reported and changes no pods; a correction is rolled out`, {
    skip,
  }, async t => {
    const { world } = await podWorld(t, what.replaceAll(' ', '-'))
    await world.server('web', { npm })
    await untilDeployment(world, () => true)
    await world.server('web', { npm, pod })
    const { status } = await world.until('web', server => reasonOf(server, 'Accepted') === 'Invalid')
    assert.match(conditionOf(status, 'Accepted')?.message ?? '', /spec\.pod/)
    assert.equal((await world.get('apps/v1', 'Deployment', 'mcp-web'))?.metadata.generation, 1)
    await world.server('web', { npm, pod: { nodeSelector: { disk: 'fast' } } })
    await untilDeployment(world, ({ metadata }) => metadata.generation === 2)
    await world.until('web', server => reasonOf(server, 'Accepted') === 'Accepted')
  })
}

test('the tools of a server are read again once only updated pods run, and after all pods were gone', {
  skip,
}, async t => {
  const { world, upstream } = await podWorld(t, 'updates')
  await world.server('web', { npm })
  await untilDeployment(world, () => true)
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  assert.equal(asked(upstream), 1)

  await world.server('web', { npm: { ...npm, version: '2.0.0' } })
  await untilDeployment(world, ({ metadata }) => metadata.generation === 2)
  const updating = await world.until('web', server => reasonOf(server, 'Ready') === 'Updating')
  assert.equal(conditionOf(updating.status, 'ToolsDiscovered')?.observedGeneration, 1)
  assert.equal(asked(upstream), 1)
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  assert.equal(asked(upstream), 2)
  world.clock.advance(6_000)
  await untilAsked(upstream, 3)

  await world.roll('mcp-web', 0)
  await world.until('web', server => reasonOf(server, 'Ready') === 'Starting')
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  await untilAsked(upstream, 4)
})

test('a new pod that is not reachable yet is no failure at first', { skip }, async t => {
  const { world, upstream } = await podWorld(t, 'settling')
  await upstream.close()
  await world.server('web', { npm })
  await untilDeployment(world, () => true)
  await world.roll('mcp-web', 1)
  await world.quiet()
  const settling = await world.until('web', server => reasonOf(server, 'Ready') === 'Starting')
  assert.equal(conditionOf(settling.status, 'ToolsDiscovered'), undefined)
  world.clock.advance(20_000)
  await world.until('web', server => reasonOf(server, 'Ready') === 'Unreachable')
})

test('a changed Secret makes new pods if the environment uses it, and none if only a header does', {
  skip,
}, async t => {
  const { world } = await podWorld(t, 'rotation')
  await world.apply(secret('keys', 'one'))
  const valueFrom = { secretKeyRef: { name: 'keys', key: 'key' } }
  const image = { name: 'example/web:1', transport: 'http' as const, port: 3_000 }
  await world.server('web', { npm, env: [{ name: 'KEY', valueFrom }] })
  await world.server('http', { image, headers: [{ name: 'X-Key', valueFrom }] })
  const [web, http] = await Promise.all([
    untilDeployment(world, () => true),
    untilDeployment(world, () => true, 'mcp-http'),
  ])
  await world.apply(secret('keys', 'two'))
  await untilDeployment(world, ({ metadata }) => metadata.generation !== web.metadata.generation)
  await world.quiet()
  const still = await world.get('apps/v1', 'Deployment', 'mcp-http')
  assert.equal(still?.metadata.generation, http.metadata.generation)
})

test('a Secret that is missing for a moment hides no server and makes no pods, nor does its unchanged return', {
  skip,
}, async t => {
  const { world } = await podWorld(t, 'away')
  await world.apply(secret('keys', 'one'))
  const valueFrom = { secretKeyRef: { name: 'keys', key: 'key' } }
  const image = { name: 'example/web:1', transport: 'http' as const, port: 80 }
  await world.gateway('tools')
  await world.server('web', { npm, env: [{ name: 'KEY', valueFrom }], headers: [] })
  await world.server('http', { image, headers: [{ name: 'X-Key', valueFrom }] })
  for (const name of ['mcp-web', 'mcp-http']) {
    await untilDeployment(world, () => true, name)
    await world.roll(name, 1)
  }
  await Promise.all(['web', 'http'].map(name => world.until(name, isReady)))
  await world.quiet()
  const before = await offered(world)
  assert.deepEqual(before.states, ['http ready', 'web ready'])

  await world.delete('Secret', 'keys')
  for (const name of ['web', 'http']) {
    const missing = await world.until(name, server => reasonOf(server, 'Accepted') === 'SecretNotFound')
    assert.equal(conditionOf(missing.status, 'Accepted')?.status, 'True')
  }
  await world.quiet()
  assert.deepEqual(await offered(world), before)

  await world.apply({ ...secret('keys', 'one'), metadata: { name: 'keys', annotations: { seen: 'yes' } } })
  for (const name of ['web', 'http']) {
    await world.until(name, server => reasonOf(server, 'Accepted') === 'Accepted')
  }
  await world.quiet()
  assert.deepEqual(await offered(world), before)
})

test('pods are not replaced if the operator starts while one of their Secrets is missing', {
  skip,
}, async t => {
  const { world } = await podWorld(t, 'away-at-start')
  await world.apply(secret('keys', 'one'))
  await world.server('web', {
    npm,
    env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'key' } } }],
  })
  await untilDeployment(world, () => true)
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  await world.operator().stop()
  await world.delete('Secret', 'keys')
  await world.start()
  const missing = await world.until('web', server => reasonOf(server, 'Accepted') === 'SecretNotFound')
  assert.ok(isReady(missing))
  await world.apply(secret('keys', 'one'))
  await world.until('web', server => reasonOf(server, 'Accepted') === 'Accepted')
  assert.equal((await untilDeployment(world, () => true)).metadata.generation, 1)
})

test('a key that no manifest names makes no new pods', { skip }, async t => {
  const { world } = await podWorld(t, 'other-key')
  await world.apply(secret('keys', 'one'))
  await world.server('web', {
    npm,
    env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'keys', key: 'key' } } }],
  })
  await untilDeployment(world, () => true)
  await world.apply({ ...secret('keys', 'one'), stringData: { key: 'one', other: 'two' } } as KubeObject)
  await world.quiet()
  assert.equal((await untilDeployment(world, () => true)).metadata.generation, 1)
})

/** What the feed says of the servers and their Secrets, and the generations of their Deployments. */
async function offered(world: World) {
  const feed = await world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', 'tools-router')
  const { config, secrets } = decodeFeed(Buffer.from(feed?.binaryData?.feed ?? '', 'base64'))
  const deployments = ['mcp-web', 'mcp-http'].map(name => untilDeployment(world, () => true, name))
  return {
    states: config.servers.map(({ name, status }) => `${name} ${status.hidden ? 'hidden' : status.state}`),
    revisions: config.servers.map(({ endpoint }) => endpoint.kind === 'http' && endpoint.revision),
    secrets,
    generations: (await Promise.all(deployments)).map(({ metadata }) => metadata.generation),
  }
}

/** The Services of all servers lead to one MCP server of the test. */
async function podWorld(t: TestContext, namespace: string) {
  const tokens = new Set<string>()
  const accepts = (token: string) => tokens.add(token) !== undefined
  const upstream = await startSdk1('stateful', { accepts })
  t.after(() => upstream.close())
  const server: typeof createConnector = options => {
    const connect = createConnector(options)
    return ({ endpoint, ...rest }) => {
      if (endpoint.kind !== 'http') throw new Error('no endpoint over HTTP')
      assert.equal(endpoint.url, `http://mcp-${rest.name}.${namespace}.svc/mcp`)
      return connect({ ...rest, endpoint: { ...endpoint, url: upstream.url } })
    }
  }
  const world = await createWorld(t, api().access, namespace, { connectors: { server } })
  return { world, tokens, upstream }
}

function asked({ log }: { log: string[] }): number {
  return log.filter(entry => entry === 'POST tools/list').length
}

async function untilAsked(upstream: { log: string[] }, count: number): Promise<void> {
  await until(`${count} requests for the tools`, () => asked(upstream) >= count)
}

function untilDeployment(
  world: World,
  check: (deployment: Kube<V1Deployment>) => boolean,
  name = 'mcp-web',
): Promise<Kube<V1Deployment>> {
  return until(`Deployment ${name}: ${check}`, async () => {
    const found = await world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', name)
    return found && check(found) && found
  })
}

function secret(name: string, key: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { key } } as KubeObject
}
