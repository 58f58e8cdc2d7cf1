/** A router that searches by meaning: by an encoder of its own, by a service that comes and goes, and without either. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import { echo, type FixtureServer, snapshotOf, upstreamOf } from '../../test/meta/fixture.ts'
import {
  createHashingEncoder,
  type EmbeddingsServer,
  startEmbeddings,
} from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { discoverTools } from '../../test/support/mcp.ts'
import { until } from '../../test/support/until.ts'
import { startRouter } from '../router.ts'
import { createInProcessSource } from '../source/in-process-source.ts'
import type { SemanticDependencies } from './semantic.ts'

const tool = (name: string, description: string) => ({ name, description, inputSchema: {} })
const SERVERS: Record<string, FixtureServer> = {
  disk: {
    offers: { tools: [tool('make_snapshot', 'Makes a snapshot'), tool('format', 'Formats a volume')] },
  },
  post: { offers: { tools: [tool('open_mailbox', 'Opens a mailbox'), tool('send', 'Sends a letter')] } },
}

async function start(
  t: TestContext,
  search: RouterConfig['search'],
  dependencies: Partial<SemanticDependencies> = {},
) {
  const clock = createManualClock()
  const source = createInProcessSource()
  const output = new PassThrough({ encoding: 'utf8' })
  const lines: Record<string, unknown>[] = []
  output.on('data', (chunk: string) => {
    for (const line of chunk.trim().split('\n')) lines.push(JSON.parse(line))
  })
  const router = await startRouter({
    source,
    connect: () => upstreamOf(echo),
    host: '127.0.0.1',
    port: 0,
    clock,
    log: createLog({ destination: output }),
    debugStatus: () => ({}),
    semantic: {
      openEmbedded: async () => createHashingEncoder(),
      encodesDocuments: true,
      secret: () => undefined,
      ...dependencies,
    },
  })
  t.after(() => router.close(0))
  let generation = 0
  const publish = (next: RouterConfig['search'], servers = SERVERS) =>
    source.publish(snapshotOf(servers, { search: next }, ++generation))
  publish(search)
  await until(() => router.catalog() !== undefined)
  const best = async (query: string) => (await discoverTools(router.url, query)).tools[0]?.tool_path
  const logged = () =>
    lines
      .filter(({ msg }) => msg === 'search by meaning')
      .map(({ semantic, reason }) => ({ semantic, reason }))
  const metric = async (name: string) => (await router.metrics.registry.getSingleMetric(name)?.get())?.values
  return { router, clock, publish, best, logged, metric }
}

async function service(t: TestContext): Promise<EmbeddingsServer> {
  const started = await startEmbeddings()
  t.after(() => started.close())
  return started
}

test('tools are found by words at once, and by meaning once their vectors exist', async t => {
  const opening = Promise.withResolvers<void>()
  const encoder = createHashingEncoder()
  const openEmbedded = () => opening.promise.then(() => encoder)
  const { router, best, logged, metric } = await start(t, { semantic: 'auto' }, { openEmbedded })
  assert.equal(await best('make a snapshot'), 'disk:make_snapshot')
  assert.equal(await best('zorble'), undefined)
  assert.deepEqual(router.search(), { semantic: 'off', reason: 'the encoder is being loaded', pending: 4 })
  const index = router.catalog()?.index
  opening.resolve()
  await until(() => router.search().semantic === 'embedded' && router.search().pending === 0)
  assert.equal(await best('zorble'), 'disk:make_snapshot')
  assert.equal(router.catalog()?.index, index)
  assert.deepEqual(logged(), [{ semantic: 'embedded', reason: undefined }])
  assert.equal((await metric('portolan_search_vectors_pending'))?.[0]?.value, 0)
  const status = await fetch(router.url.replace('/mcp', '/debug/status'))
  assert.partialDeepStrictEqual(await status.json(), { search: { semantic: 'embedded', pending: 0 } })
})

test('a missing encoder is looked for again, and logged once', async t => {
  let there = false
  const openEmbedded = async () => {
    if (!there) throw new Fault('io', 'the model is not there')
    return createHashingEncoder()
  }
  const { router, clock, best, logged } = await start(t, { semantic: 'auto' }, { openEmbedded })
  const reason = 'the model is not there'
  await until(() => router.search().reason === reason)
  await until(() => clock.pending() > 0)
  clock.advance(10_000)
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(router.search(), { semantic: 'off', reason, pending: 0 })
  there = true
  clock.advance(10_000)
  await until(() => router.search().semantic === 'embedded' && router.search().pending === 0)
  assert.equal(await best('zorble'), 'disk:make_snapshot')
  assert.deepEqual(logged().filter(line => line.reason === reason).length, 1)
})

test('a lost encoder is closed, and opened again once that is possible', async t => {
  const lose: (() => void)[] = []
  let closed = 0
  const openEmbedded = async (onLost: () => void) => {
    if (lose.push(onLost) === 2) throw new Fault('io', 'the model is cut off')
    return { ...createHashingEncoder(), close: async () => void closed++ }
  }
  const { router, clock, best } = await start(t, { semantic: 'auto' }, { openEmbedded })
  await until(() => router.search().semantic === 'embedded' && router.search().pending === 0)
  lose[0]?.()
  lose[0]?.()
  await until(() => router.search().semantic === 'off' && clock.pending() > 0)
  assert.equal(await best('zorble'), undefined)
  clock.advance(10_000)
  await until(() => router.search().reason === 'the model is cut off')
  clock.advance(10_000)
  await until(() => router.search().semantic === 'embedded' && router.search().pending === 0)
  assert.equal(await best('zorble'), 'disk:make_snapshot')
  assert.deepEqual([lose.length, closed], [3, 1])
})

test('semantic none opens no encoder; changing it while the router runs opens and closes the encoder', async t => {
  let opened = 0
  let closed = 0
  const openEmbedded = async () => {
    opened++
    return { ...createHashingEncoder(), close: async () => void closed++ }
  }
  const { router, publish, best } = await start(t, { semantic: 'none' }, { openEmbedded })
  assert.equal(await best('zorble'), undefined)
  assert.match(router.search().reason ?? '', /semantic/)
  assert.equal(opened, 0)
  publish({ semantic: 'auto' })
  await until(() => router.search().semantic === 'embedded' && router.search().pending === 0)
  publish({ semantic: 'none' })
  await until(() => router.search().semantic === 'off')
  assert.equal(await best('zorble'), undefined)
  await until(() => closed === 1)
  assert.equal(opened, 1)
})

test('while an embeddings service is down searches use words, and its return is noticed', async t => {
  const embeddings = await service(t)
  const search = {
    semantic: 'auto',
    embeddings: { ...at(embeddings), secret: { name: 'vault', key: 'token' } },
  } as const
  embeddings.mood = 503
  const secret = ({ name, key }: { name: string; key: string }) => `${name}/${key}`
  const { router, clock, best, metric } = await start(t, search, { secret })
  const reason = 'The embeddings service answers 503'
  await until(() => router.search().reason === reason)
  assert.deepEqual(router.search(), { semantic: 'endpoint', reason, pending: 4 })
  assert.deepEqual([await best('zorble'), await best('snapshot')], [undefined, 'disk:make_snapshot'])
  embeddings.mood = 'well'
  await until(() => clock.pending() > 0)
  clock.advance(10_000)
  await until(() => router.search().pending === 0)
  assert.deepEqual([await best('zorble'), await best('glunk')], ['disk:make_snapshot', 'post:open_mailbox'])
  assert.equal(embeddings.asked.at(-1)?.authorization, 'Bearer vault/token')
  embeddings.mood = 500
  assert.deepEqual([await best('frimp'), await best('send a letter')], [undefined, 'post:send'])
  assert.equal(router.search().reason, 'The embeddings service answers 500')
  assert.equal(await best('zorble'), 'disk:make_snapshot')
  assert.deepEqual(await metric('portolan_search_queries_without_vector_total'), [
    { value: 2, labels: { reason: 'failed' } },
  ])
  embeddings.mood = 'well'
  assert.equal(await best('the glunk'), 'post:open_mailbox')
  assert.deepEqual(router.search(), { semantic: 'endpoint', reason: undefined, pending: 0 })
})

test('without its key a service is not used; a changed key is used from then on, without encoding again', async t => {
  const embeddings = await service(t)
  const search = {
    semantic: 'auto',
    embeddings: { ...at(embeddings), secret: { name: 'vault', key: 'token' } },
  } as const
  let key: string | undefined
  const { router, publish } = await start(t, search, { secret: () => key })
  assert.deepEqual(router.search(), {
    semantic: 'off',
    reason: 'the key token of the Secret vault could not be read',
    pending: 0,
  })
  for (const next of ['first', 'second']) {
    key = next
    publish(search)
    await until(() => embeddings.asked.at(-1)?.authorization === `Bearer ${next}`)
    await until(() => router.search().pending === 0 && router.search().semantic === 'endpoint')
    await until(() => router.catalog()?.vectors?.tools.pending === 0)
  }
  assert.equal(embeddings.asked.filter(({ texts }) => texts.length > 1).length, 2)
})

test('if a service changes its dimensions, all texts are encoded again', async t => {
  const embeddings = await service(t)
  const { router, clock, best } = await start(t, { semantic: 'auto', embeddings: at(embeddings) })
  await until(() => router.catalog()?.vectors?.tools.pending === 0)
  embeddings.dimensions = 128
  assert.equal(await best('zorble'), undefined)
  assert.equal(router.catalog()?.vectors, undefined)
  clock.advance(10_000)
  await until(() => router.catalog()?.vectors?.tools.pending === 0)
  assert.equal(await best('zorble'), 'disk:make_snapshot')
})

const at = ({ url }: EmbeddingsServer) => ({ url, model: 'm' })
