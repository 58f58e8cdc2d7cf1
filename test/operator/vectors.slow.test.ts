/** Sentence vectors in a cluster: made by the real model, stored in the slices, read back by the next operator. */
import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { searchTexts } from '../../core/catalog/search-text.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import { createEmbeddedEncoder } from '../../core/encoder/embedded.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import { readCatalog } from '../../core/kube/catalog.ts'
import { apiServerOfTests, skipApiServer } from '../support/api-server.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { until } from '../support/until.ts'
import { startReplay } from '../upstreams/replay/replay.ts'
import { createWorld, isReady, type World } from './world.ts'

const skip = skipApiServer() || skipModel()
const never = new AbortController().signal
const tools = Object.entries({
  create_issue: 'Open a new issue in a repository',
  send_invoice: 'Bill a customer for what was delivered',
  read_forecast: 'How warm it gets, and whether it rains',
}).map(([name, description]) => ({ name, description, inputSchema: { type: 'object' } }))
const catalogs = [
  {
    name: 'mixed',
    protocolVersion: '2025-11-25',
    serverInfo: { name: 'mixed', version: '1' },
    capabilities: { tools: {} },
    tools,
  },
]

const api = apiServerOfTests(skip)
let replay: Awaited<ReturnType<typeof startReplay>>

before(async () => {
  if (!skip) replay = await startReplay({ catalogs })
})
after(() => replay?.close())

test('tools of a server get vectors, and the next operator reads them instead of encoding again', {
  skip,
}, async t => {
  const model = await openModel(t)
  const world = await createWorld(t, api().access, 'vectors', { openEncoder: async () => model.encoder })
  const server = await world.server('mixed', { remote: { url: replay.url('mixed') } })
  await world.until('mixed', isReady)
  const { name, spec } = { name: server.metadata.name, spec: server.spec }
  const catalog = await untilVectors(world, 'mixed')
  assert.equal(catalog.vectors?.encoder, ENCODER_ID)
  const vectors = unpackVectors(catalog.vectors)
  const texts = searchTexts({ ...spec, name }, catalog)
  const query = await model.encoder.encodeQuery('tomorrow temperature outside')
  const best = texts.toSorted((a, b) => cosine(query, vectors.get(b.key)) - cosine(query, vectors.get(a.key)))
  assert.match(best[0]?.full ?? '', /forecast/)

  const [before, encoded] = [await world.quiet(), model.encoded()]
  assert.equal(encoded, tools.length)
  await world.operator().stop()
  await world.start()
  await world.until('mixed', isReady)
  assert.deepEqual(await world.quiet(), before)
  assert.equal(model.encoded(), encoded)
})

async function openModel(t: TestContext): Promise<{ encoder: SentenceEncoder; encoded: () => number }> {
  const unavailable = (reason: string) => t.diagnostic(reason)
  const encoder = await createEmbeddedEncoder({ modelFile: testModelFile(), unavailable })
  assert.ok(encoder)
  t.after(() => encoder.close())
  let encoded = 0
  const counting: SentenceEncoder = {
    ...encoder,
    encodeTexts(texts, signal) {
      encoded += texts.length
      return encoder.encodeTexts(texts, signal)
    },
    // The encoder is closed after the test, not with the first operator that used it.
    close: async () => {},
  }
  return { encoder: counting, encoded: () => encoded }
}

/** Waits until the slices contain vectors; returns the catalog in them. */
function untilVectors(
  { client, namespace }: World,
  server: string,
): Promise<ServerCatalog & Required<Pick<ServerCatalog, 'vectors'>>> {
  return until(`${server} has vectors`, async () => {
    const { vectors, ...catalog } = await readCatalog(client, namespace, server, undefined, never)
    return vectors && { ...catalog, vectors }
  })
}

function cosine(a: Vector, b: Vector | undefined): number {
  assert.ok(b)
  return a.values.reduce((sum, value, at) => sum + value * (b.values[at] ?? 0), 0) * a.scale * b.scale
}
