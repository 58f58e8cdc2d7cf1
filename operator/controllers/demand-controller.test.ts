/** How often the routers of a gateway are asked what uses its servers: routers that answer over HTTP and have a stream of events. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type McpServerInput, mcpServerSchema } from '../../crds/server.ts'
import { ofReplicaSet, startRouter } from '../../test/operator/router.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import type { Caches } from '../runtime/caches.ts'
import { Demand } from './demand.ts'
import { createDemandController, MIN_GAP_MS } from './demand-controller.ts'
import { createManifests } from './parsed-manifests.ts'
import { REPORT_LIMIT_MS } from './router-report.ts'

const OURS = 'portolan.dev/v1alpha1'
const GATEWAY = 'mcp/tools'
/** Of a pod that somebody made with the labels of a router. */
const FAKE = '127.0.9.39'
const SELDOM = { afterMs: 30_000 }
const OFTEN = { afterMs: 2_000 }
const ASLEEP = { observedGeneration: 1, replicas: { wanted: 0, ready: 0 }, conditions: [] }
const AWAKE = { ...ASLEEP, replicas: { wanted: 1, ready: 1 } }
const IDLE = { servers: [{ name: 'web', idleMs: 1_000 }], waiting: [] }
const WAITING = {
  servers: [{ name: 'web', held: 1 }],
  waiting: [{ server: 'web', since: '2026-01-01T00:00:00Z' }],
}

test('routers are polled rarely while every server sleeps, and at once when a call waits', async t => {
  const { look, notified, router, demand } = await start(t, '127.0.9.31', ASLEEP)
  await look()
  await notified()
  assert.deepEqual(await look(), SELDOM)
  assert.equal(demand.of('mcp/web', [GATEWAY], 30_000).isKnown, true)
  router.says(WAITING)
  router.tells()
  await notified()
  assert.deepEqual(await look(), OFTEN)
  assert.equal(demand.of('mcp/web', [GATEWAY], 0).isWanted, true)
})

test('routers are polled often while a server is awake, or one of them does not answer', async t => {
  const awake = await start(t, '127.0.9.32', AWAKE)
  await awake.look()
  await awake.notified()
  assert.deepEqual(await awake.look(), OFTEN)
  const silent = await start(t, '127.0.9.33', ASLEEP)
  await silent.look()
  await silent.notified()
  silent.router.says({ servers: 'none' })
  assert.deepEqual(await silent.look(), OFTEN)
})

test('a router whose stream ends is polled at once, and often from then on', async t => {
  const { look, notified, router } = await start(t, '127.0.9.34', ASLEEP)
  await look()
  await notified()
  assert.deepEqual(await look(), SELDOM)
  router.breaks()
  await notified()
  assert.deepEqual(await look(), OFTEN)
})

test('a router that sends one event after another is polled ten times a second at most', async t => {
  const { look, notified, router, clock, queue } = await start(t, '127.0.9.35', ASLEEP)
  await look()
  await notified()
  await look()
  router.tells()
  await until(() => clock.pending() >= 2)
  clock.advance(MIN_GAP_MS - 1)
  assert.equal(queue.depth, 0)
  clock.advance(1)
  assert.equal(queue.depth, 1)
})

test('a pod that only has the labels of a router is neither read nor waited for', async t => {
  const { look, notified, router, demand } = await start(t, '127.0.9.36', ASLEEP)
  const fake = await startRouter(t, FAKE, { streams: true })
  await look()
  await notified()
  assert.deepEqual(await look(), SELDOM)
  assert.deepEqual([fake.asked(), fake.isFollowed(), router.isFollowed()], [0, false, true])
  assert.equal(demand.of('mcp/web', [GATEWAY], 0).isKnown, true)
})

test('a router that did not answer in time is not waited for in the next poll', async t => {
  const { look, notified, router, clock } = await start(t, '127.0.9.37', AWAKE)
  await look()
  await notified()
  router.says(undefined)
  const asked = router.asked()
  const waiting = look()
  await until(() => router.asked() > asked)
  clock.advance(REPORT_LIMIT_MS)
  assert.deepEqual(await waiting, OFTEN)
  assert.deepEqual(await look(), OFTEN)
  assert.equal(router.asked(), asked + 1)
  router.says(IDLE)
  clock.advance(OFTEN.afterMs)
  await look()
  assert.equal(router.asked(), asked + 2)
})

test('a clock that is set back by an hour does not delay the next poll', async t => {
  const { look, notified, router, clock, queue } = await start(t, '127.0.9.40', ASLEEP)
  await look()
  await notified()
  await look()
  clock.setBack(3_600_000)
  router.tells()
  await until(() => clock.pending() >= 2)
  clock.advance(MIN_GAP_MS)
  assert.equal(queue.depth, 1)
})

/** What the cluster has of a gateway: the parts of its Deployment and of its status that differ. */
type Parts = { deployment?: { spec?: object; status?: object } | null; gateway?: object; routers?: boolean }

const REFUSED = { status: { conditions: [{ type: 'Accepted', status: 'False' }] } }
const NONE_WANTED = { spec: { replicas: 0 }, status: { observedGeneration: 1 } }

const WITHOUT_ROUTERS: Record<string, Parts> = {
  'a gateway with no replicas': { deployment: NONE_WANTED, routers: false },
  'a refused gateway without a Deployment': { deployment: null, gateway: REFUSED, routers: false },
}

for (const [what, parts] of Object.entries(WITHOUT_ROUTERS)) {
  test(`${what} has no routers that could report: its servers are unused, and it is polled rarely`, async t => {
    const { look, demand, changed } = await start(t, '127.0.9.41', AWAKE, parts)
    assert.deepEqual(await look(), SELDOM)
    const { isKnown, calls, usedAtMs } = demand.of('mcp/web', [GATEWAY], 30_000)
    assert.deepEqual({ isKnown, calls, usedAtMs }, { isKnown: true, calls: 0, usedAtMs: 0 })
    assert.deepEqual(changed, ['mcp/web'])
    assert.equal(demand.ofUsers('mcp/web', [GATEWAY], 30_000).isKnown, true)
  })
}

const PERHAPS_WITH_ROUTERS: Record<string, Parts> = {
  'a new gateway without a Deployment': { deployment: null },
  'a Deployment that was just created': { deployment: { spec: { replicas: 2 } } },
  'a Deployment whose last router still runs': {
    deployment: { spec: { replicas: 0 }, status: { replicas: 1, observedGeneration: 1 } },
  },
  'a Deployment whose controller has not seen that it shall have none': {
    deployment: { spec: { replicas: 0 }, status: { observedGeneration: 0 } },
  },
  'a refused gateway whose routers still run': { deployment: { spec: { replicas: 2 } }, gateway: REFUSED },
}

for (const [what, parts] of Object.entries(PERHAPS_WITH_ROUTERS)) {
  test(`${what} may have routers that do not report yet: the use of its servers is not known`, async t => {
    const { look, demand } = await start(t, '127.0.9.42', AWAKE, { ...parts, routers: false })
    assert.deepEqual(await look(), OFTEN)
    assert.equal(demand.of('mcp/web', [GATEWAY], 0).isKnown, false)
  })
}

test('the last router of a gateway that shall have none counts while it reports', async t => {
  const { look, router, demand } = await start(t, '127.0.9.43', AWAKE, { deployment: NONE_WANTED })
  router.says({ servers: [{ name: 'web', active: 1 }], waiting: [] })
  assert.deepEqual(await look(), OFTEN)
  assert.equal(demand.of('mcp/web', [GATEWAY], 0).usedAtMs, undefined)
})

async function start(t: TestContext, address: string, status: McpServerInput['status'], parts: Parts = {}) {
  const clock = createManualClock()
  const router = await startRouter(t, address, { streams: true })
  router.says(IDLE)
  const demand = new Demand()
  const changed: string[] = []
  demand.onChange(server => changed.push(server))
  const { controller, close } = createDemandController({
    caches: cachesOf(address, status, parts),
    manifests: createManifests(),
    demand,
    logins: { write: async () => {} },
    clock,
    random: () => 0.5,
  })
  const { queue } = controller
  const stop = new AbortController()
  t.after(() => {
    stop.abort()
    close()
  })
  return {
    ...{ router, demand, changed, clock, queue },
    look: () => controller.reconcile(GATEWAY, stop.signal),
    /** Waits for an event of the stream, and takes the gateway from the queue. */
    async notified() {
      // One timer is that of the stream, or of its next attempt.
      await until(() => clock.pending() >= 2)
      clock.advance(MIN_GAP_MS)
      queue.done((await queue.next(stop.signal)) ?? '')
    },
  }
}

/** A gateway with a router at the address, and a server that may sleep. */
function cachesOf(
  address: string,
  status: McpServerInput['status'],
  { deployment: state = {}, gateway: told, routers = true }: Parts,
): Caches {
  const place = { namespace: 'mcp', uid: '1', generation: 1 }
  const spec = { image: { name: 'web:1', command: ['/web'] }, scaling: { min: 0 } }
  const metadata = { ...place, name: 'web' }
  const server = mcpServerSchema.parse({ apiVersion: OURS, kind: 'McpServer', metadata, spec, status })
  const named = { ...place, name: 'tools' }
  const gateway = { apiVersion: OURS, kind: 'McpGateway', metadata: named, spec: {}, ...told }
  const owner = { apiVersion: OURS, kind: 'McpGateway', name: 'tools', uid: '1', controller: true }
  const deployment = { metadata: { ...place, name: 'tools-gateway', ownerReferences: [owner] }, ...state }
  const owned = { ...place, name: 'router', ...ofReplicaSet('tools-gateway') }
  const pods = [
    { metadata: owned, status: { phase: 'Running', podIP: address } },
    { metadata: { ...place, name: 'fake' }, status: { phase: 'Running', podIP: FAKE } },
  ]
  const cache = (name: string, object: object | null) => ({
    objects: new Map([[name, object]]),
    get: (key: string) => (key === name ? (object ?? undefined) : undefined),
    onChange: () => {},
  })
  return {
    servers: cache('mcp/web', server),
    gateways: cache(GATEWAY, gateway),
    deployments: cache('mcp/tools-gateway', state && deployment),
    podsOf: () => (routers ? pods : []),
    onOwnedChange: () => {},
  } as unknown as Caches
}
