/** Vectors of servers: computed in turns, once each, from the same texts that routers look for. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { resolve } from '../../core/catalog/resolve.ts'
import { searchTexts } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { packVectors, unpackVectors } from '../../core/catalog/vectors.ts'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import { Fault } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import { type McpServer, type McpServerSpecInput, mcpServerSchema } from '../../crds/server.ts'
import { createHashingEncoder } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { until } from '../../test/support/until.ts'
import { runController } from '../runtime/controller.ts'
import { createOperatorMetrics } from '../runtime/operator-metrics.ts'
import { createEncoding, MAX_TEXTS } from './encoding-controller.ts'

test('missing vectors are computed after the list is published, and then kept', async t => {
  const { encoding, publish, done, encoder } = begin(t)
  const catalog = catalogOf('own', ['commit', 'push'])
  assert.equal(publish('own', catalog).vectors, undefined)
  assert.deepEqual(await done(1), ['own'])
  assert.ok(encoding.isDone('own'))
  const { vectors } = publish('own', catalog)
  assert.equal(vectors?.keys.length, 2)
  assert.ok(!encoding.isDone('own'))
  assert.deepEqual(encoder.encoded, ['own: commit. ', 'own: push. '])
})

test('routers find a vector for every text that they build from configuration and list', async t => {
  const spec: McpServerSpecInput = {
    remote: { url: 'http://a.example' },
    title: 'GitHub',
    keywords: ['vcs'],
    category: 'devops',
    tools: { deny: ['drop_*'], overrides: { commit: { description: 'Keeps changes', keywords: ['save'] } } },
  }
  const { publish, done } = begin(t)
  const catalog = catalogOf('git', ['commit', 'push', 'drop_all'])
  publish('git', catalog, serverOf('git', spec))
  await done(1)
  const { vectors } = publish('git', catalog, serverOf('git', spec))
  const { config } = resolve({
    servers: [serverOf('git', spec)],
    observed: new Map(),
    placement: 'cluster',
    now: 0,
  })
  const [server] = config.servers
  assert.ok(server && vectors)
  const texts = searchTexts(server, catalog)
  assert.equal(texts.length, 2)
  assert.deepEqual(texts.map(({ key }) => key).sort(), vectors.keys)
})

test('existing vectors are not computed again; those of removed texts or another encoder are left out', async t => {
  const { publish, done, encoder } = begin(t)
  const catalog = catalogOf('git', ['commit', 'push'])
  publish('git', catalog)
  await done(1)
  const published = publish('git', catalog)
  const other = begin(t)
  const fewer = other.publish('git', catalogOf('git', ['push']), serverOf('git'), published)
  assert.equal(fewer.vectors?.keys.length, 1)
  assert.deepEqual(other.publish('git', catalog, serverOf('git'), published), published)
  assert.deepEqual(other.encoder.encoded, [])
  const { vectors } = published
  assert.ok(vectors)
  const foreign = { ...published, vectors: packVectors('another', unpackVectors(vectors)) }
  assert.equal(other.publish('git', catalog, serverOf('git'), foreign).vectors, undefined)
  await other.done(1)
  assert.deepEqual(other.encoder.encoded, encoder.encoded)
})

test('servers with many tools take turns with others', async t => {
  const { publish, done, encoder } = begin(t)
  const many = Array.from({ length: 40 }, (_, at) => `many${at}`)
  publish('large', catalogOf('large', many))
  publish('small', catalogOf('small', ['one']))
  assert.deepEqual(await done(2), ['small', 'large'])
  assert.equal(encoder.encoded.indexOf('small: one. '), 16)
})

test('after a failure the encoding is retried', async t => {
  const { clock, publish, done, state } = begin(t)
  state.fails = true
  publish('git', catalogOf('git', ['commit']))
  await until(() => state.failures > 0)
  await new Promise(setImmediate)
  state.fails = false
  clock.advance(1_000)
  assert.deepEqual(await done(1), ['git'])
})

test('without an encoder nothing is pending, and existing vectors stay', async t => {
  const made = begin(t)
  made.publish('git', catalogOf('git', ['commit']))
  await made.done(1)
  const published = made.publish('git', catalogOf('git', ['commit']))
  const { publish, pending, metrics } = begin(t, false)
  publish('git', catalogOf('git', ['commit', 'push']))
  await until(async () => (await pending()) === 0)
  publish('other', catalogOf('other', ['x']))
  assert.equal(await pending(), 0)
  assert.deepEqual(publish('git', catalogOf('git', ['commit']), serverOf('git'), published), published)
  assert.match(await metrics.registry.metrics(), /^portolan_encoder_available 0$/m)
})

test('an idle encoder is closed after ten seconds, and opened again when needed', async t => {
  const { clock, publish, done, state } = begin(t)
  publish('git', catalogOf('git', ['commit']))
  await done(1)
  clock.advance(9_999)
  assert.deepEqual([state.opened, state.closed], [1, 0])
  clock.advance(1)
  assert.deepEqual([state.opened, state.closed], [1, 1])
  publish('web', catalogOf('web', ['fetch']))
  await done(2)
  assert.equal(state.opened, 2)
})

test('only a limited number of tools of one server is encoded, and none of a removed server', async t => {
  const { encoding, publish, pending } = begin(t, true, false)
  publish(
    'large',
    catalogOf(
      'large',
      Array.from({ length: MAX_TEXTS + 1 }, (_, at) => `t${at}`),
    ),
  )
  assert.equal(await pending(), MAX_TEXTS)
  encoding.forget('large')
  assert.equal(await pending(), 0)
})

/** An encoding controller. `hasEncoder` false: no encoder can be opened. `runs` false: it does no work. */
function begin(t: TestContext, hasEncoder = true, runs = true) {
  const clock = createManualClock()
  const metrics = createOperatorMetrics(clock)
  const hashing = createHashingEncoder(ENCODER_ID)
  const state = { opened: 0, closed: 0, fails: false, failures: 0 }
  const encoder: typeof hashing = {
    ...hashing,
    async encodeTexts(texts, signal) {
      if (!state.fails) return hashing.encodeTexts(texts, signal)
      state.failures++
      throw new Fault('io', 'The encoder failed')
    },
    close: async () => void state.closed++,
  }
  const finished: string[] = []
  const openEncoder = async () => {
    state.opened++
    return hasEncoder ? encoder : undefined
  }
  const onDone = (key: string) => void finished.push(key)
  const encoding = createEncoding({ openEncoder, onDone, clock, random: () => 0.5, metrics })
  const stop = new AbortController()
  const log = createLog({ level: 'silent' })
  const running = runs ? runController(encoding.controller, { log, metrics, clock }, stop.signal) : undefined
  t.after(async () => {
    stop.abort()
    await running
    await encoding.close()
  })
  return {
    clock,
    encoding,
    encoder,
    metrics,
    state,
    publish(key: string, catalog: ServerCatalog, server = serverOf(key), published?: ServerCatalog) {
      const complete = encoding.complete(key, server, catalog, published)
      encoding.published(key)
      return complete
    },
    /** Waits until all vectors of `count` servers are computed; returns the keys of these servers, in order. */
    async done(count: number) {
      await until(() => finished.length >= count)
      return finished
    },
    async pending() {
      const gauge = await metrics.registry.getSingleMetric('portolan_vectors_pending')?.get()
      return gauge?.values[0]?.value ?? Number.NaN
    },
  }
}

function serverOf(
  name: string,
  spec: McpServerSpecInput = { remote: { url: 'http://a.example' } },
): McpServer {
  const metadata = { name, namespace: 'default' }
  return mcpServerSchema.parse({ apiVersion: 'portolan.dev/v1alpha1', kind: 'McpServer', metadata, spec })
}

function catalogOf(server: string, tools: string[]): ServerCatalog {
  return {
    server,
    protocol: '2025-11-25',
    capabilities: {},
    tools: tools.map(name => ({
      definition: { name, inputSchema: { type: 'object' } },
      tokens: 1,
      descriptionTokens: 0,
      schemaTokens: 1,
    })),
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: tools.join(),
  }
}
