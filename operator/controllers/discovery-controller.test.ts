/** Discovery during failures: real MCP servers, and an API server whose answers the test gives. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { decodeSlices, readSlice } from '../../core/catalog/slices.ts'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import type { Kube, KubeObject, ObjectRef } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import type { Tracer } from '../../core/trace.ts'
import { openTracing, tracingSettings } from '../../core/tracing.ts'
import { type McpServer, type McpServerSpecInput, mcpServerSchema } from '../../crds/server.ts'
import { createHashingEncoder } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { startCollector } from '../../test/support/otlp.ts'
import { until } from '../../test/support/until.ts'
import { answer, type Behaviour, hang, startRude } from '../../test/upstreams/http/rude.ts'
import { createApplier } from '../runtime/apply.ts'
import type { Caches } from '../runtime/caches.ts'
import { runController } from '../runtime/controller.ts'
import { createOperatorMetrics } from '../runtime/operator-metrics.ts'
import { DescriptionTokens } from './description-tokens.ts'
import { createDiscovery } from './discovery-controller.ts'
import { Targets } from './discovery-targets.ts'
import { createEncoding } from './encoding-controller.ts'
import { Pins } from './pins.ts'
import { Publisher } from './publish.ts'
import { SliceSets } from './slice-sets.ts'

const HOUR_MS = 3_600_000

test('notifications of servers and changes in the cluster are not lost while the API server is unavailable', async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => rude.close())
  const world = begin(t)
  const key = world.add('web', rude.url)
  await world.reconcile(key)
  const [slice] = world.written
  assert.ok(slice)
  world.change(undefined, slice)
  world.change(slice, undefined)
  world.clock.advance(1_000)
  world.setUnavailable(true)
  world.change(undefined, slice)
  await assert.rejects(world.reconcile(key), ApiError)
  world.setUnavailable(false)
  await world.reconcile(key)
  assert.equal(rude.log.filter(entry => entry === 'POST tools/list').length, 2)
})

test('servers that fail or hang use at most half of the concurrency', { timeout: 10_000 }, async t => {
  const behaviours: Record<string, Behaviour> = { initialize: response => void response.destroy() }
  const dead = await startRude(behaviours)
  const well = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => Promise.all([dead.close(), well.close()]))
  const world = begin(t)
  const failing = ['a', 'b', 'c'].map(name => world.add(name, dead.url))
  for (const key of failing) await world.reconcile(key)
  behaviours.initialize = hang
  world.clock.advance(HOUR_MS)
  const hanging = world.reconcile(failing[0] ?? '')
  const waits = await Promise.all(failing.slice(1).map(key => world.reconcile(key)))
  assert.ok(waits.every(wait => (wait?.afterMs ?? 0) > 0))
  await world.reconcile(world.add('well', well.url))
  assert.ok(well.log.includes('POST tools/list'))
  world.stop.abort()
  await assert.rejects(hanging)
})

test('a list is published without vectors, then once with them; another operator encodes nothing', async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [tool('commit'), tool('push')] }) })
  t.after(() => rude.close())
  const world = begin(t)
  const key = world.add('git', rude.url)
  await world.settle(key)
  assert.deepEqual(world.written.map(vectorsIn), [0, 2])
  world.clock.advance(HOUR_MS)
  await world.settle(key)
  const next = begin(t, world)
  await next.settle(next.add('git', rude.url))
  assert.deepEqual([world.written.length, next.encoder.encoded], [2, []])
  // At least 3: the clock jumps by an hour, so that the check for a sign of life is due as well, and may also read the list.
  assert.ok(rude.log.filter(entry => entry === 'POST tools/list').length >= 3)
})

test('a new description is encoded without reading the list again', async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [tool('commit'), tool('push')] }) })
  t.after(() => rude.close())
  const world = begin(t)
  const key = world.add('own', rude.url)
  await world.settle(key)
  world.add('own', rude.url, { tools: { overrides: { push: { description: 'Sends changes' } } } }, 2)
  await world.settle(key)
  assert.deepEqual(world.written.map(vectorsIn), [0, 2, 1, 2])
  assert.deepEqual(world.encoder.encoded, ['own: commit. ', 'own: push. ', 'own: push. Sends changes'])
  assert.equal(rude.log.filter(entry => entry === 'POST tools/list').length, 1)
})

test('vectors that could not be written are written later, and not computed again', async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [tool('commit')] }) })
  t.after(() => rude.close())
  const world = begin(t)
  const key = world.add('git', rude.url)
  const held = Promise.withResolvers<void>()
  world.hold(held.promise)
  await world.reconcile(key)
  held.resolve()
  await world.encoded()
  world.setUnavailable(true)
  await assert.rejects(world.reconcile(key), ApiError)
  world.setUnavailable(false)
  await world.reconcile(key)
  assert.deepEqual(world.written.map(vectorsIn), [0, 1])
  assert.equal(world.encoder.encoded.length, 1)
})

test('each discovery is a span with its server, and with the code of a failure', async t => {
  const collector = await startCollector()
  const well = await startRude({ 'tools/list': answer({ tools: [] }) })
  const dead = await startRude({ initialize: response => void response.destroy() })
  t.after(() => Promise.all([collector.close(), well.close(), dead.close()]))
  const wanted = tracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const tracing = await openTracing(wanted, 'portolan-operator', createLog({ level: 'silent' }))
  const world = begin(t, undefined, tracing?.tracer)
  await world.reconcile(world.add('well', well.url))
  await world.reconcile(world.add('dead', dead.url))
  world.setUnavailable(true)
  await assert.rejects(world.reconcile(world.add('lost', well.url)))
  await tracing?.close()
  assert.deepEqual(
    collector.spans.map(({ name, attributes }) => [name, attributes['error.type']]),
    [
      ['discover team/well', undefined],
      ['discover team/dead', 'upstream_died'],
      ['discover team/lost', 'interrupted'],
    ],
  )
})

/** How many vectors the slice holds. */
function vectorsIn(slice: KubeObject): number {
  return decodeSlices([readSlice(slice as Kube<V1ConfigMap>)]).vectors?.keys.length ?? 0
}

function tool(name: string) {
  return { name, inputSchema: { type: 'object' } }
}

/** Discovery of two servers at once, with a manual clock; `before` is an earlier one whose cluster it takes over. */
function begin(
  t: TestContext,
  before?: { stored: Map<string, KubeObject>; written: KubeObject[] },
  tracer?: Tracer,
) {
  const clock = createManualClock(1_800_000_000_000)
  const log = createLog({ level: 'silent' })
  const metrics = createOperatorMetrics(clock)
  const objects = new Map<string, McpServer>()
  const { stored, written } = before ?? { stored: new Map<string, KubeObject>(), written: [] }
  const listeners: ((before?: KubeObject, now?: KubeObject) => void)[] = []
  let isUnavailable = false
  const answerTo = async <T>(value: T): Promise<T> => {
    if (isUnavailable) throw new ApiError(0, 'Unreachable', 'unavailable')
    return value
  }
  const client = {
    get: async <T extends KubeObject>({ name }: ObjectRef) => answerTo(stored.get(name) as T | undefined),
    applyStatus: <T>(object: T) => answerTo(object),
    apply: async <T extends KubeObject>(object: T) => {
      await answerTo(object)
      written.push(object)
      const { name } = object.metadata
      const made = {
        ...object,
        metadata: { ...object.metadata, uid: name, resourceVersion: `${written.length}` },
      }
      stored.set(name, made)
      return made
    },
    patchMetadata: async () => {},
    delete: () => answerTo(true),
  }
  const silent = { get: () => undefined, onChange: () => () => {} }
  const caches = {
    servers: { ...silent, get: (key: string) => objects.get(key) },
    deployments: silent,
    configMaps: { onChange: (listener: (typeof listeners)[number]) => listeners.push(listener) },
    find: () => undefined,
    ownedBy: () => [],
  } as unknown as Caches
  const slices = new SliceSets()
  const targets = new Targets()
  const countTokens = async (texts: readonly string[]) => texts.map(() => 1)
  const applier = createApplier({ client, log, metrics, fieldManager: 'test' })
  const tokens = new DescriptionTokens(countTokens)
  const encoder = createHashingEncoder(ENCODER_ID)
  let held = Promise.resolve()
  const openEncoder = () => held.then(() => encoder)
  const random = () => 0.5
  const onDone = (key: string) => discovery.controller.queue.add(key)
  const encoding = createEncoding({ openEncoder, onDone, clock, random, metrics })
  const pins = new Pins({ client, caches, applier, log })
  const publisher = new Publisher({ client, caches, applier, tokens, encoding, pins, clock, metrics })
  const shared = { client, caches, targets, slices, publisher, encoding, countTokens, clock, log, metrics }
  const discovery = createDiscovery({ ...shared, concurrency: 2, random, tracer })
  const stop = new AbortController()
  const running = runController(encoding.controller, { log, metrics, clock }, stop.signal)
  t.after(async () => {
    stop.abort()
    await Promise.all([running, discovery.close(), encoding.close()])
  })
  /** Resolves once no vector is pending. */
  const encoded = async () => {
    const pending = metrics.registry.getSingleMetric('portolan_vectors_pending')
    await until(async () => (await pending?.get())?.values[0]?.value === 0)
  }
  return {
    clock,
    written,
    stored,
    encoder,
    /** No encoder is opened before the promise resolves. */
    hold: (until: Promise<void>) => {
      held = until
    },
    stop,
    setUnavailable: (value: boolean) => {
      isUnavailable = value
    },
    add: (name: string, url: string, spec: Partial<McpServerSpecInput> = {}, generation = 1) => {
      const server = mcpServerSchema.parse({
        apiVersion: 'portolan.dev/v1alpha1',
        kind: 'McpServer',
        metadata: { name, namespace: 'team', uid: name, generation },
        spec: { ...spec, remote: { url } },
      })
      const endpoint = endpointOf(server, 'cluster')
      if (endpoint.kind !== 'http') throw new Error('no endpoint over HTTP')
      objects.set(`team/${name}`, server)
      targets.set(`team/${name}`, { server, endpoint })
      return `team/${name}`
    },
    reconcile: (key: string) => discovery.controller.reconcile(key, stop.signal),
    encoded,
    /** Reconciles the server, and again once its vectors are computed. */
    async settle(key: string) {
      await discovery.controller.reconcile(key, stop.signal)
      await encoded()
      await discovery.controller.reconcile(key, stop.signal)
    },
    change(before: KubeObject | undefined, now: KubeObject | undefined) {
      slices.take(before, now)
      for (const listener of listeners) listener(before, now)
    },
  }
}
