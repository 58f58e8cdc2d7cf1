/** The embedded encoder, with a model of random weights. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { writeRandomModel } from '../../test/encoder/random-model.ts'
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'
import { createEmbeddedEncoder, type EmbeddedOptions } from './embedded.ts'
import type { SentenceEncoder } from './encoder.ts'
import { DIMENSIONS, ENCODER_ID } from './minilm.ts'
import { openVectorCache } from './vector-cache.ts'

const folder = mkdtempSync(join(tmpdir(), 'portolan-encoder-'))
const modelFile = join(folder, 'minilm.bin')
before(() => void writeRandomModel(modelFile))
after(() => rmSync(folder, { recursive: true }))

const signal = new AbortController().signal
const textOf = (id: number): SearchText => ({
  key: `text-${id}`.padEnd(22, '_'),
  full: `server: tool ${id}. does ${id}`,
  name: `server tool ${id}`,
})
const textsOf = (count: number): SearchText[] => Array.from({ length: count }, (_, id) => textOf(id))

async function open(t: TestContext, options: Partial<EmbeddedOptions> = {}): Promise<SentenceEncoder> {
  const encoder = await createEmbeddedEncoder({
    modelFile,
    unavailable: reason => assert.fail(reason),
    ...options,
  })
  t.after(() => encoder?.close())
  return encoder as SentenceEncoder
}

function similarity(left: Vector, right: Vector): number {
  const dot = left.values.reduce((sum, value, i) => sum + value * (right.values[i] as number), 0)
  return dot * left.scale * right.scale
}

test('vectors have length 1, are equal for equal texts, and differ for different ones', async t => {
  const encoder = await open(t)
  assert.equal(encoder.id, ENCODER_ID)
  const [one, again, other] = await Promise.all(
    ['send mail', 'Send  Mail', 'x'].map(text => encoder.encodeQuery(text)),
  )
  assert.ok(one && again && other)
  assert.deepEqual(one, again)
  assert.ok(Math.abs(similarity(one, one) - 1) < 0.01)
  assert.ok(similarity(one, other) < 0.99)
})

test('the vector of a text does not depend on other texts and queries that are encoded with it', async t => {
  const encoder = await open(t)
  const alone = await encoder.encodeTexts([textOf(5)], signal)
  const together = encoder.encodeTexts(textsOf(10), signal)
  const queries = Array.from({ length: 20 }, (_, id) => encoder.encodeQuery(`query ${id}`))
  const vectors = await together
  await Promise.all(queries)
  assert.equal(vectors.length, 10)
  assert.deepEqual(vectors[5], alone[0])
  assert.deepEqual(await encoder.encodeTexts([], signal), [])
})

test('the vector of a text is the weighted mean of those of the full text (1) and the name (0.3)', async t => {
  const encoder = await open(t)
  const text = textOf(1)
  const [both] = await encoder.encodeTexts([text], signal)
  const [full, name] = await Promise.all([encoder.encodeQuery(text.full), encoder.encodeQuery(text.name)])
  const at = ({ values, scale }: Vector, i: number) => (values[i] as number) * scale
  for (let i = 0; i < 384; i++)
    assert.ok(Math.abs(at(both as Vector, i) - (at(full, i) + 0.3 * at(name, i)) / 1.3) < 0.003)
})

test('queries are encoded before the remaining texts of a call that has already begun', async t => {
  const encoder = await open(t)
  let done = false
  const texts = encoder.encodeTexts(textsOf(24), signal).then(() => {
    done = true
  })
  for (let id = 0; id < 5; id++) await encoder.encodeQuery(`query ${id}`)
  assert.equal(done, false)
  await texts
})

test('concurrent calls of encodeTexts take turns', async t => {
  const encoder = await open(t)
  const order: string[] = []
  const texts = textsOf(32)
  await Promise.all([
    encoder.encodeTexts(texts.slice(0, 24), signal).then(() => order.push('many')),
    encoder.encodeTexts(texts.slice(24), signal).then(() => order.push('few')),
  ])
  assert.deepEqual(order, ['few', 'many'])
})

test('a cancelled call rejects immediately, and its remaining texts are not encoded', async t => {
  const encoder = await open(t)
  const stop = new AbortController()
  const texts = encoder.encodeTexts(textsOf(1_000), stop.signal)
  await encoder.encodeQuery('something')
  stop.abort()
  await assert.rejects(texts, { code: 'cancelled' })
  await assert.rejects(encoder.encodeQuery('more', stop.signal), { code: 'cancelled' })
  assert.equal((await encoder.encodeTexts([textOf(1)], signal)).length, 1)
})

test('encoded vectors are cached across restarts, also those of a cancelled call', async t => {
  const cacheFile = join(folder, 'vectors')
  const stop = new AbortController()
  const first = await open(t, { cacheFile })
  const cut = first.encodeTexts(textsOf(500), stop.signal)
  await first.encodeTexts([textOf(1_000), textOf(1_000)], signal)
  stop.abort()
  await assert.rejects(cut, { code: 'cancelled' })
  const made = await first.encodeTexts(textsOf(8), signal)
  await first.close()
  const size = statSync(cacheFile).size
  assert.ok(size >= 9 * 414)
  const second = await open(t, { cacheFile })
  assert.deepEqual(
    await second.encodeTexts([...textsOf(8), textOf(1_000)], signal).then(all => all.slice(0, 8)),
    made,
  )
  await second.close()
  assert.equal(statSync(cacheFile).size, size)
})

test('a text whose vector is cached is not encoded again', async t => {
  const cacheFile = join(folder, 'planted')
  const [cached, other] = [textOf(1), textOf(2)]
  // No text has it, so it can only come from the cache.
  const planted = { values: new Int8Array(DIMENSIONS).fill(1), scale: 1 }
  const bounds = { dimensions: DIMENSIONS, maxVectors: 10 }
  const cache = await openVectorCache({ file: cacheFile, encoder: ENCODER_ID, ...bounds })
  cache.put(cached.key, planted)
  await cache.close()
  const encoder = await open(t, { cacheFile })
  const [found, made] = await encoder.encodeTexts([cached, other], signal)
  assert.deepEqual(found, planted)
  assert.notDeepEqual(made, planted)
})

test('without a model, or with a damaged one, there is no encoder, and `unavailable` gets the reason', async () => {
  const reasonOf = async (modelFile: string): Promise<string> => {
    const reasons: string[] = []
    const unavailable = (reason: string) => void reasons.push(reason)
    assert.equal(await createEmbeddedEncoder({ modelFile, unavailable }), undefined)
    assert.equal(reasons.length, 1)
    return reasons[0] ?? ''
  }
  assert.match(await reasonOf(join(folder, 'none')), /is not there: run `portolan model`/)
  const damaged = join(folder, 'damaged')
  writeFileSync(damaged, 'this is not it')
  assert.match(await reasonOf(damaged), /is cut off: run `portolan model`/)
})

test('closing the encoder rejects waiting calls and all later ones', async t => {
  const encoder = await open(t)
  const waiting = [
    encoder.encodeQuery('a'),
    encoder.encodeQuery('b'),
    encoder.encodeTexts(textsOf(20), signal),
  ]
  const settled = Promise.allSettled(waiting)
  await encoder.close()
  assert.ok((await settled).some(({ status }) => status === 'rejected'))
  await assert.rejects(encoder.encodeQuery('c'), { code: 'unavailable', message: /is closed/ })
  await encoder.close()
})
