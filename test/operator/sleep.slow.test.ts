/** When servers sleep, wake and scale, as the operator decides it: a real API server, and fake routers. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1ConfigMap, V1Deployment } from '@kubernetes/client-node'
import { decodeFeed } from '../../core/catalog/feed-text.ts'
import type { Kube } from '../../core/kube/object.ts'
import { createConnector } from '../../core/mcp/client/connector.ts'
import { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import type { McpServerSpecInput } from '../../crds/server.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { runRouter, startRouter } from './router.ts'
import { createWorld, isReady, reasonOf, type World } from './world.ts'

const skip = skipApiServer()
const MINUTE = 60_000
const image = { name: 'web:1', command: ['/web'] }
const SLEEPY = { image, scaling: { min: 0, idleAfter: '15m' } }
const DAY_MS = 24 * 60 * MINUTE
/** How often routers are polled while only a call can change anything. */
const REST_POLL_MS = 30_000

const api = apiServerOfTests(skip)

test('an unused server falls asleep, causes no writes and gets no requests for a day, and a call wakes it', {
  skip,
}, async t => {
  const { world, router, upstream } = await sleepyWorld(t, 'sleeps', '127.0.9.1', SLEEPY)
  await world.until('web', isReady)
  world.clock.advance(14 * MINUTE)
  router.reportsUse({ idleMs: 14 * MINUTE })
  await world.quiet()
  assert.equal((await deploymentOf(world)).spec?.replicas, 1)
  router.reportsUse({ idleMs: 16 * MINUTE })
  world.clock.advance(2 * MINUTE)
  await world.until('web', server => reasonOf(server, 'Ready') === 'Asleep')
  await world.roll('mcp-web', 0)
  await world.untilGateway('tools', isReady)
  await untilFeed(world, sleep => sleep?.asleep === true)

  const before = await world.quiet()
  const asked = upstream.log.length
  router.reportsUse({ idleMs: DAY_MS })
  for (let hours = 0; hours < 24; hours++) world.clock.advance(60 * MINUTE)
  assert.deepEqual([...(await world.quiet())], [...before])
  assert.equal(upstream.log.length, asked)

  router.reportsWaiting()
  await untilReplicas(world, 1)
  const waking = await world.until('web', server => reasonOf(server, 'Ready') === 'Waking')
  assert.deepEqual(waking.status?.replicas?.wanted, 1)
  await untilFeed(world, sleep => sleep?.asleep === false)
  router.reportsUse({ active: 1 })
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  // Its lists are read again at each wake.
  await until(() => upstream.log.length !== asked)
})

test('a changed manifest wakes a sleeping server once', { skip }, async t => {
  const { world, router } = await sleepyWorld(t, 'changed', '127.0.9.2', SLEEPY)
  await untilAsleep(world, router)
  await world.server('web', { ...SLEEPY, description: 'Changed' })
  await untilReplicas(world, 1)
  await world.roll('mcp-web', 1)
  await world.until('web', isReady)
  await untilAsleep(world, router)
  await world.quiet()
  assert.equal((await deploymentOf(world)).spec?.replicas, 0)
})

test('a call that began to wait while no operator ran wakes the server when the next operator starts', {
  skip,
}, async t => {
  const { world, router } = await sleepyWorld(t, 'leader', '127.0.9.3', SLEEPY)
  await untilAsleep(world, router)
  await world.operator().stop()
  router.reportsWaiting()
  await world.start()
  await untilReplicas(world, 1)
})

test('while only a call can change anything, routers are rarely polled; their streams report calls', {
  skip,
}, async t => {
  const { world, router } = await sleepyWorld(t, 'streams', '127.0.9.7', SLEEPY, { streams: true })
  await untilAsleep(world, router)
  await world.quiet()
  assert.ok(router.isFollowed())
  const asked = router.asked()
  for (let seconds = 0; seconds < 10; seconds += 2) {
    world.clock.advance(2_000)
    router.keepsAlive()
    await world.quiet()
  }
  // The probe of the gateway's status, and at most one poll for waiting calls.
  assert.ok(router.asked() - asked <= 2, `${router.asked() - asked} times`)
  router.reportsWaiting()
  router.tells()
  await untilReplicas(world, 1)
})

test('a waiting call is found by polling when the stream of its router is broken', { skip }, async t => {
  const { world, router } = await sleepyWorld(t, 'broken', '127.0.9.8', SLEEPY, { streams: true })
  await untilAsleep(world, router)
  await world.quiet()
  router.breaks()
  await until(() => !router.isFollowed())
  router.reportsWaiting()
  const began = performance.now()
  await untilReplicas(world, 1)
  const tookMs = performance.now() - began
  t.diagnostic(`found after ${tookMs.toFixed(0)} ms`)
  assert.ok(tookMs < REST_POLL_MS / 2)
})

test('a caller that disconnects before the operator reads the report wakes nothing', { skip }, async t => {
  const { world, router } = await sleepyWorld(t, 'gone', '127.0.9.4', SLEEPY)
  await untilAsleep(world, router)
  const before = await world.quiet()
  const asked = router.asked()
  // Nothing can read the report between these two.
  router.reportsWaiting()
  router.reportsUse({ idleMs: 0 })
  world.clock.advance(MINUTE)
  await until(() => router.asked() > asked)
  assert.deepEqual([...(await world.quiet())], [...before])
})

test('replicas follow the calls in flight; none is removed while there is a session, then one after another', {
  skip,
}, async t => {
  const spec = { image, scaling: { min: 1, max: 4, callsPerPod: 10 } }
  const { world, router } = await sleepyWorld(t, 'scales', '127.0.9.5', spec)
  await world.until('web', isReady)
  router.reportsUse({ active: 16, waiting: 9 })
  await untilReplicas(world, 3)
  router.reportsUse({ active: 16, waiting: 200 })
  await untilReplicas(world, 4)
  await world.roll('mcp-web', 4)
  router.reportsUse({ active: 1, sessions: 1 })
  world.clock.advance(10 * MINUTE)
  await world.quiet()
  assert.equal((await deploymentOf(world)).spec?.replicas, 4)
  router.reportsUse({ active: 1 })
  await world.quiet()
  for (const [minutes, wanted] of [
    [5.1, 3],
    [1.1, 2],
    [1.1, 1],
  ] as const) {
    world.clock.advance(minutes * MINUTE)
    await untilReplicas(world, wanted)
  }
})

test('with scaling.external the operator neither changes the replicas nor creates an autoscaler', {
  skip,
}, async t => {
  const spec = { image, scaling: { min: 0, max: 9, external: true } }
  const { world, router } = await sleepyWorld(t, 'external', '127.0.9.6', spec)
  await world.until('web', isReady)
  const scaled = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'mcp-web' },
    spec: { replicas: 7 },
  }
  await world.apply(scaled as never)
  router.reportsUse({ idleMs: DAY_MS })
  world.clock.advance(60 * MINUTE)
  await world.quiet()
  assert.equal((await deploymentOf(world)).spec?.replicas, 7)
  assert.equal(await world.get('autoscaling/v2', 'HorizontalPodAutoscaler', 'mcp-web'), undefined)
})

type Use = { active?: number; waiting?: number; held?: number; sessions?: number; idleMs?: number }

/** A server `web` with an instance that is ready, behind a gateway with one router at `address`. */
async function sleepyWorld(
  t: TestContext,
  namespace: string,
  address: string,
  spec: McpServerSpecInput,
  options: { streams?: boolean } = {},
) {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const front = await startSdk1('stateless')
  t.after(() => front.close())
  const server: typeof createConnector = options => {
    const connect = createConnector(options)
    return given =>
      connect({
        ...given,
        endpoint: {
          kind: 'http',
          url: upstream.url,
          transport: 'streamable-http',
          revision: given.endpoint.revision,
        },
      })
  }
  const gateway: typeof connectSdkClient = (_, signal) => connectSdkClient(front.url, signal)
  const world = await createWorld(t, api().access, namespace, { connectors: { server, gateway } })
  const router = await startWebRouter(t, address, options)
  await world.server('web', spec)
  await world.gateway('tools', { router: { replicas: 1, debug: false } })
  await runRouter(world, 'tools', address)
  await untilReplicas(world, 1)
  await world.roll('mcp-web', 1)
  return { world, router, upstream }
}

async function startWebRouter(t: TestContext, address: string, options: { streams?: boolean }) {
  const router = await startRouter(t, address, options)
  const say = (use: Use, waiting: object[]) =>
    router.says({
      generation: 1_000_000_000,
      exposedTokens: 5,
      servers: [{ name: 'web', state: 'ready', breaker: 'closed', ...use }],
      waiting,
    })
  say({ idleMs: 0 }, [])
  return {
    ...router,
    reportsUse: (use: Use) => say(use, []),
    reportsWaiting: () => say({ held: 1 }, [{ server: 'web', since: '2026-01-01T00:00:00.000Z' }]),
  }
}

async function untilAsleep(world: World, router: Awaited<ReturnType<typeof startWebRouter>>): Promise<void> {
  await world.until('web', isReady)
  router.reportsUse({ idleMs: DAY_MS })
  await world.quiet()
  world.clock.advance(20 * MINUTE)
  await world.until('web', server => reasonOf(server, 'Ready') === 'Asleep')
  await world.roll('mcp-web', 0)
}

async function deploymentOf(world: World): Promise<Kube<V1Deployment>> {
  const found = await world.get<Kube<V1Deployment>>('apps/v1', 'Deployment', 'mcp-web')
  assert.ok(found)
  return found
}

async function untilReplicas(world: World, replicas: number): Promise<void> {
  await world.until('web', ({ status }) => status?.replicas?.wanted === replicas)
  assert.equal((await deploymentOf(world)).spec?.replicas, replicas)
}

/** Waits until the feed of the gateway has this state of the server. */
async function untilFeed(
  world: World,
  check: (sleep: { asleep: boolean } | undefined) => boolean,
): Promise<void> {
  await world.until('web', () => true)
  await until(`the sleep of web in the feed: ${check}`, async () => {
    const feed = await world.get<Kube<V1ConfigMap>>('v1', 'ConfigMap', 'tools-router')
    const bytes = feed?.binaryData?.feed
    const config = bytes ? decodeFeed(Buffer.from(bytes, 'base64')).config : undefined
    return check(config?.servers.find(({ name }) => name === 'web')?.sleep)
  })
}
