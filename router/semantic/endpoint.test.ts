/** An embeddings service with a simple model: forms of requests, limits, and failures. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../core/async.ts'
import { quantize, type Vector } from '../../core/catalog/vectors.ts'
import { openVectorCache } from '../../core/encoder/vector-cache.ts'
import { createRemoteGuard } from '../../core/mcp/client/remote-guard.ts'
import { type EmbeddingsServer, embed, startEmbeddings } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { type EndpointOptions, openEndpoint } from './endpoint.ts'

const forever = new AbortController().signal

async function start(t: TestContext): Promise<EmbeddingsServer> {
  const service = await startEmbeddings()
  t.after(() => service.close())
  return service
}

async function open(t: TestContext, { url }: { url: string }, options: Partial<EndpointOptions> = {}) {
  const others: number[] = []
  const given = { url, model: 'm', clock: systemClock, onOther: () => others.push(1), ...options }
  const encoder = await openEndpoint(given, forever)
  t.after(() => encoder.close())
  return { encoder, others }
}

/** Keys are as long as real ones. */
const textOf = (full: string, name = full) => ({ key: full.slice(0, 22).padEnd(22, '.'), full, name })
const many = (count: number) => Array.from({ length: count }, (_, at) => textOf(`text number ${at}`))

function cosine(a: Vector, b: Vector): number {
  const dot = (x: Vector, y: Vector) =>
    x.values.reduce((sum, value, at) => sum + value * (y.values[at] as number), 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

test('the URL of a service may be its base, the whole URL, or that of text-embeddings-inference', async t => {
  const service = await start(t)
  const { origin } = new URL(service.url)
  for (const [url, path] of [
    [service.url, '/v1/embeddings'],
    [`${service.url}/`, '/v1/embeddings'],
    [`${origin}/v1/embeddings?version=2`, '/v1/embeddings?version=2'],
    [`${origin}/embed`, '/embed'],
  ] as const) {
    const { encoder } = await open(t, { url }, { apiKey: 'hush' })
    assert.ok(cosine(await encoder.encodeQuery('read a file'), quantize(embed('read a file'))) > 0.999)
    const { authorization, ...asked } = service.asked.at(-1) ?? {}
    assert.equal(authorization, 'Bearer hush')
    const model = path === '/embed' ? undefined : 'm'
    assert.deepEqual(asked, { path, model, texts: ['read a file'] })
  }
})

test('vectors are returned in order, each of the full text and the name, from bounded batches', async t => {
  const service = await start(t)
  const { encoder } = await open(t, service)
  const texts = many(50)
  const vectors = await encoder.encodeTexts(texts, forever)
  assert.equal(vectors.length, 50)
  for (const [at, vector] of vectors.entries()) {
    assert.ok(cosine(vector, quantize(embed(texts[at]?.full ?? ''))) > 0.999)
    assert.ok(Math.abs(Math.max(...vector.values.map(Math.abs)) - 127) <= 1)
  }
  assert.ok(service.asked.every(({ texts }) => texts.length <= 64))
  assert.ok(service.most <= 2, `${service.most} at a time`)
  const before = service.asked.length
  const long = Array.from({ length: 5 }, (_, at) => textOf(`${at} ${'x'.repeat(12_000)}`, 'name'))
  await encoder.encodeTexts(long, forever)
  assert.deepEqual(
    service.asked
      .slice(before)
      .map(({ texts }) => texts.length / 2)
      .sort(),
    [1, 2, 2],
  )
})

test('if a request fails, the other one is cancelled, and no further one is sent', async t => {
  const service = await start(t)
  const { encoder } = await open(t, service)
  service.mood = async texts => {
    // The greeting was the first.
    await service.untilAsked(3)
    return texts.includes('text number 63') ? 500 : 'silent'
  }
  await assert.rejects(encoder.encodeTexts(many(64), forever), { message: /500/ })
  for (let turn = 0; turn < 10_000 && service.active > 0; turn++) await nextTurn()
  assert.deepEqual([service.active, service.asked.length], [0, 3])
})

test('vectors that were made before a request failed are not requested again', async t => {
  const service = await start(t)
  const { encoder } = await open(t, service)
  const texts = many(40)
  service.mood = asked => (asked.includes('text number 0') ? 500 : 'well')
  await assert.rejects(encoder.encodeTexts(texts, forever), { message: /500/ })
  service.mood = 'well'
  const before = service.asked.length
  // As DocumentVectors does after a failure.
  const vectors = await encoder.encodeTexts(texts.slice(0, 1), forever)
  vectors.push(...(await encoder.encodeTexts(texts.slice(1), forever)))
  for (const [at, vector] of vectors.entries())
    assert.ok(cosine(vector, quantize(embed(texts[at]?.full ?? ''))) > 0.999)
  const again = service.asked.slice(before).flatMap(({ texts }) => texts)
  assert.ok(again.length < 2 * texts.length, `${again.length} texts`)
})

test('vectors on disk are not requested again', async t => {
  const service = await start(t)
  const folder = mkdtempSync(join(tmpdir(), 'portolan-test-vectors-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'vectors.bin')
  const openCache = (encoder: string, dimensions: number) =>
    openVectorCache({ file, encoder, dimensions, maxVectors: 100 })
  const first = await open(t, service, { openCache })
  const vectors = await first.encoder.encodeTexts(many(3), forever)
  await first.encoder.close()
  const asked = service.asked.length
  const second = await open(t, service, { openCache })
  assert.deepEqual(await second.encoder.encodeTexts(many(3), forever), vectors)
  assert.equal(service.asked.length, asked + 1)
  const other = await open(t, service, { openCache, model: 'other' })
  assert.notEqual(other.encoder.id, first.encoder.id)
  await other.encoder.encodeTexts(many(3), forever)
  assert.equal(service.asked.length, asked + 3)
  // They may still write into the folder that is removed next.
  await Promise.all([second.encoder.close(), other.encoder.close()])
})

test('the error of a service says what is wrong, without its address or key', async t => {
  const service = await start(t)
  const { encoder } = await open(t, service, { apiKey: 'hush' })
  for (const [mood, message] of [
    [401, /refused the API key.*401/],
    [404, /no such model/],
    [429, /limiting requests/],
    [500, /answers 500/],
    ['nonsense', /invalid JSON/],
    ['oneTooFew', /one vector for each text/],
    ['huge', /answer that is too large/],
    ['dense', /answer that is too large/],
  ] as const) {
    service.mood = mood
    await assert.rejects(encoder.encodeTexts(many(1), forever), error => {
      const { code, message: text } = error as Error & { code: string }
      assert.equal(code, 'unavailable')
      assert.match(text, message)
      assert.doesNotMatch(text, /hush|127\.0\.0\.1/)
      return true
    })
  }
  await service.close()
  await assert.rejects(encoder.encodeTexts(many(1), forever), {
    code: 'unavailable',
    message: /cannot be reached \(\w+\)/,
  })
})

test('a query waits for one second and a batch for thirty, or until the caller leaves', async t => {
  const service = await start(t)
  const clock = createManualClock()
  const { encoder } = await open(t, service, { clock })
  service.mood = 'silent'
  const query = encoder.encodeQuery('a')
  await service.untilAsked(2)
  clock.advance(999)
  assert.equal(await Promise.race([query, nextTurn('pending')]), 'pending')
  clock.advance(1)
  await assert.rejects(query, { code: 'unavailable', message: /in time/ })
  const batch = encoder.encodeTexts(many(1), forever)
  await service.untilAsked(3)
  clock.advance(29_999)
  assert.equal(await Promise.race([batch, nextTurn('pending')]), 'pending')
  clock.advance(1)
  await assert.rejects(batch, { code: 'unavailable', message: /in time/ })
  const caller = new AbortController()
  const cancelled = encoder.encodeTexts(many(1), caller.signal)
  await service.untilAsked(4)
  caller.abort()
  await assert.rejects(cancelled, { code: 'cancelled' })
})

test('after three failed queries no query is sent for ten seconds, or until a batch succeeds', async t => {
  const service = await start(t)
  const clock = createManualClock()
  const { encoder } = await open(t, service, { clock })
  service.mood = 503
  const fails = () => assert.rejects(encoder.encodeQuery('a'), { code: 'unavailable', message: /503/ })
  for (let at = 0; at < 3; at++) await fails()
  const asked = service.asked.length
  await fails()
  assert.equal(service.asked.length, asked)
  clock.advance(10_000)
  await fails()
  assert.equal(service.asked.length, asked + 1)
  await fails()
  assert.equal(service.asked.length, asked + 1)
  service.mood = 'well'
  await encoder.encodeTexts(many(1), forever)
  assert.ok(await encoder.encodeQuery('a'))
})

test('a change of dimensions is reported, and a service with other dimensions has another encoder id', async t => {
  const service = await start(t)
  const { encoder, others } = await open(t, service)
  service.dimensions = 128
  await assert.rejects(encoder.encodeQuery('a'), {
    code: 'invalid_data',
    message: /dimensions other than 256/,
  })
  assert.equal(others.length, 1)
  const again = await open(t, service)
  assert.notEqual(again.encoder.id, encoder.id)
})

test('a service that refuses the API key is not opened', async t => {
  const service = await start(t)
  service.mood = 401
  await assert.rejects(open(t, service), { code: 'unavailable', message: /401/ })
})

test('a service whose address is not allowed gets no request', async t => {
  const service = await start(t)
  const hosts = createRemoteGuard({ remoteHosts: [], refusedAddresses: [] })
  for (const host of ['127.0.0.1', 'localhost'])
    await assert.rejects(open(t, { url: service.url.replace('127.0.0.1', host) }, { hosts }), {
      message: /address that is not allowed/,
    })
})
