/** An operator at rest writes nothing, and many servers become ready with few writes: a real API server, real MCP servers. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import { ListWatch } from '../../core/kube/list-watch.ts'
import { createLog } from '../../core/log.ts'
import { connectSdkClient } from '../../core/mcp/client/sdk-client.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { createHashingEncoder } from '../support/embeddings.ts'
import { until } from '../support/until.ts'
import { startSdk1 } from '../upstreams/http/sdk1.ts'
import { startReplay } from '../upstreams/replay/replay.ts'
import { runRouter, startRouter } from './router.ts'
import { createWorld, isReady, type World } from './world.ts'

const skip = skipApiServer()
const MANY = 200

const api = apiServerOfTests(skip)

test('a second apply, a full resync and another operator write nothing', {
  skip,
}, async t => {
  const upstream = await startSdk1('stateful')
  t.after(() => upstream.close())
  const front = await startSdk1('stateless')
  t.after(() => front.close())
  const gateway: typeof connectSdkClient = (_, signal) => connectSdkClient(front.url, signal)
  const encoder = createHashingEncoder(ENCODER_ID)
  const openEncoder = async () => encoder
  const world = await createWorld(t, api().access, 'rest', { connectors: { gateway }, openEncoder })
  const apply = async () => {
    await world.server('remote', { remote: { url: upstream.url } })
    await world.server('packaged', {
      npm: { package: 'x', version: '1.0.0' },
      env: [{ name: 'A', value: 'b' }],
    })
    await world.server('off', { remote: { url: upstream.url }, suspend: true })
    await world.server('refused', { command: { run: 'x' } })
    await world.gateway('tools', { router: { replicas: 1, debug: false } })
  }
  await startRouter(t, '127.0.8.1')
  await apply()
  await world.until('remote', isReady)
  await world.untilGateway('tools', ({ status }) => status?.servers?.ready === 1)
  await runRouter(world, 'tools', '127.0.8.1')
  await world.untilGateway('tools', isReady)
  const before = await world.quiet()
  const encoded = encoder.encoded.length
  assert.ok(encoded > 0)
  await apply()
  assert.deepEqual(differences(before, await world.quiet()), [])

  await world.operator().stop()
  const operator = await world.start({ resyncMs: 1_000 })
  await untilReconciled(operator, 30)
  assert.deepEqual(differences(before, await world.quiet()), [])
  assert.equal(await writes(world), 0)
  assert.equal(encoder.encoded.length, encoded)
})

test(`${MANY} remote servers become ready, and the feed of their gateway is written only a few times`, {
  skip,
}, async t => {
  const replay = await startReplay()
  t.after(() => replay.close())
  const world = await createWorld(t, api().access, 'many')
  await world.gateway('all')
  const feeds = await countFeeds(t, world)
  const started = performance.now()
  const names = Array.from({ length: MANY }, (_, at) => `server-${at}`)
  for (let at = 0; at < MANY; at += 20) {
    const urlOf = (index: number) => replay.url(replay.servers[index % replay.servers.length] ?? '')
    await Promise.all(
      names
        .slice(at, at + 20)
        .map((name, index) => world.server(name, { remote: { url: urlOf(at + index) } })),
    )
  }
  const appliedMs = performance.now() - started
  const { status } = await world.untilGateway('all', gateway => gateway.status?.servers?.ready === MANY)
  const readyMs = performance.now() - started
  assert.ok((status?.tools ?? 0) > MANY)
  t.diagnostic(
    `applied in ${appliedMs.toFixed(0)} ms, ready after ${readyMs.toFixed(0)} ms, ${feeds()} feeds`,
  )
  assert.ok(feeds() <= 4 + (readyMs / 1_000) * 2, `${feeds()} feeds in ${readyMs} ms`)
  await world.quiet()
  const all = await writes(world)
  await world.quiet()
  assert.equal(await writes(world), all)
})

/** How often the feed of the gateway `all` is written from now on. */
async function countFeeds(t: TestContext, { client, namespace }: World): Promise<() => number> {
  const query = { apiVersion: 'v1', kind: 'ConfigMap', namespace, fieldSelector: 'metadata.name=all-router' }
  const watch = new ListWatch({ client, query, log: createLog({ level: 'silent' }) })
  let count = 0
  watch.onChange(() => count++)
  const stopping = new AbortController()
  const running = watch.run(stopping.signal)
  t.after(() => {
    stopping.abort()
    return running
  })
  await watch.synced
  return () => count
}

/** Requests that may have written something, by the operator that runs now. */
async function writes(world: World): Promise<number> {
  const metric = world.operator().metrics.registry.getSingleMetric('portolan_api_writes_total')
  const { values = [] } = (await metric?.get()) ?? {}
  return values.reduce((sum, { value }) => sum + value, 0)
}

async function untilReconciled(operator: ReturnType<World['operator']>, count: number): Promise<void> {
  await until(`${count} reconciliations`, async () => {
    const metric = operator.metrics.registry.getSingleMetric('portolan_reconcile_duration_seconds')
    const { values = [] } = (await metric?.get()) ?? {}
    const counts = values.filter(
      value => 'metricName' in value && String(value.metricName).endsWith('_count'),
    )
    return counts.reduce((sum, { value }) => sum + value, 0) >= count
  })
}

function differences(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...now.keys()])
  return [...names].filter(name => before.get(name) !== now.get(name))
}
