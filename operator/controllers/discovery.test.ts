/** What discovery does when the world fails around it: real MCP servers, and an API server that does what a test says. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { endpointOf } from '../../core/catalog/endpoint.ts'
import { ApiError } from '../../core/kube/api-error.ts'
import type { KubeObject } from '../../core/kube/object.ts'
import { createLog } from '../../core/log.ts'
import { type McpServer, mcpServerSchema } from '../../crds/server.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { answer, type Behaviour, hang, startRude } from '../../test/upstreams/http/rude.ts'
import { createApplier } from '../runtime/apply.ts'
import type { Caches } from '../runtime/caches.ts'
import { createOperatorMetrics } from '../runtime/metrics.ts'
import { DescriptionTokens } from './description-tokens.ts'
import { createDiscovery } from './discovery.ts'
import { Publisher } from './publish.ts'
import { SliceSets } from './slice-sets.ts'
import { Targets } from './targets.ts'

const HOUR_MS = 3_600_000

test('what a server or the cluster said is not forgotten while the API server is away', async t => {
  const rude = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => rude.close())
  const world = begin(t)
  const key = world.add('web', rude.url)
  await world.ask(key)
  const [slice] = world.written
  assert.ok(slice)
  world.change(undefined, slice)
  world.change(slice, undefined)
  world.clock.advance(1_000)
  world.away(true)
  world.change(undefined, slice)
  await assert.rejects(world.ask(key), ApiError)
  world.away(false)
  await world.ask(key)
  assert.equal(rude.log.filter(entry => entry === 'POST tools/list').length, 2)
})

test('servers that fail and hang leave half of the places to the others', { timeout: 10_000 }, async t => {
  const behaviours: Record<string, Behaviour> = { initialize: response => void response.destroy() }
  const dead = await startRude(behaviours)
  const well = await startRude({ 'tools/list': answer({ tools: [] }) })
  t.after(() => Promise.all([dead.close(), well.close()]))
  const world = begin(t)
  const failing = ['a', 'b', 'c'].map(name => world.add(name, dead.url))
  for (const key of failing) await world.ask(key)
  behaviours.initialize = hang
  world.clock.advance(HOUR_MS)
  const hanging = world.ask(failing[0] ?? '')
  const waits = await Promise.all(failing.slice(1).map(key => world.ask(key)))
  assert.ok(waits.every(wait => (wait?.afterMs ?? 0) > 0))
  await world.ask(world.add('well', well.url))
  assert.ok(well.log.includes('POST tools/list'))
  world.stop.abort()
  await assert.rejects(hanging)
})

/** Discovery with two places, on a clock that stands still. */
function begin(t: TestContext) {
  const clock = createManualClock(1_800_000_000_000)
  const log = createLog({ level: 'silent' })
  const metrics = createOperatorMetrics(clock)
  const objects = new Map<string, McpServer>()
  const written: KubeObject[] = []
  const listeners: ((before?: KubeObject, now?: KubeObject) => void)[] = []
  let away = false
  const answerTo = async <T>(value: T): Promise<T> => {
    if (away) throw new ApiError(0, 'Unreachable', 'away')
    return value
  }
  const client = {
    get: () => answerTo(undefined),
    applyStatus: <T>(object: T) => answerTo(object),
    apply: async <T extends KubeObject>(object: T) => {
      written.push(object)
      return answerTo(object)
    },
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
  const publisher = new Publisher({ client, caches, applier, slices, tokens, clock, metrics })
  const shared = { client, caches, targets, slices, publisher, countTokens, clock, log, metrics }
  const discovery = createDiscovery({ ...shared, concurrency: 2, random: () => 0.5 })
  t.after(() => discovery.close())
  const stop = new AbortController()
  return {
    clock,
    written,
    stop,
    away: (value: boolean) => {
      away = value
    },
    add: (name: string, url: string) => {
      const server = mcpServerSchema.parse({
        apiVersion: 'portolan.dev/v1alpha1',
        kind: 'McpServer',
        metadata: { name, namespace: 'team', uid: name },
        spec: { remote: { url } },
      })
      const endpoint = endpointOf(server, 'cluster')
      if (endpoint.kind !== 'http') throw new Error('no endpoint over HTTP')
      objects.set(`team/${name}`, server)
      targets.set(`team/${name}`, { server, endpoint })
      return `team/${name}`
    },
    ask: (key: string) => discovery.controller.reconcile(key, stop.signal),
    change(before: KubeObject | undefined, now: KubeObject | undefined) {
      slices.take(before, now)
      for (const listener of listeners) listener(before, now)
    },
  }
}
