/** Which vectors a served catalog has: those that came with it, and those that are made for it, in turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type SearchText, searchTexts } from '../../core/catalog/search-text.ts'
import { packVectors, quantize, type Vector } from '../../core/catalog/vectors.ts'
import { drive, type FixtureServer, snapshotOf } from '../../test/meta/fixture.ts'
import { createHashingEncoder, embed } from '../../test/support/embeddings.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { buildCatalog, type Catalog } from '../catalog/catalog.ts'
import { buildOwnCatalog } from '../catalog/own-lists.ts'
import { DocumentVectors } from './document-vectors.ts'

const tools = (count: number, name: string): FixtureServer => ({
  offers: {
    tools: Array.from({ length: count }, (_, at) => ({ name: `${name}_${at}`, inputSchema: {} })),
  },
})

/** Documents of an encoder whose batches are done, or fail, when a test says so. */
function start(encodesAtOnce?: number) {
  const clock = createManualClock()
  const real = createHashingEncoder()
  const batches: { texts: readonly SearchText[]; go: () => void; fail: () => void }[] = []
  const seen = { vectors: 0, own: 0, errors: [] as unknown[] }
  const encoder = {
    ...real,
    encodeTexts: (texts: readonly SearchText[], signal: AbortSignal) =>
      new Promise<Awaited<ReturnType<typeof real.encodeTexts>>>((resolve, reject) => {
        const go = () => resolve(real.encodeTexts(texts, signal))
        batches.push({ texts, go, fail: () => reject(new Error('no')) })
      }),
  }
  const vectors = new Map<string, Vector>()
  const documents = new DocumentVectors({
    encoder,
    vectors,
    encodesAtOnce,
    clock,
    onVectors: () => seen.vectors++,
    onOwnVectors: () => seen.own++,
    onEncoded: error => error && seen.errors.push(error),
  })
  /** Ends the newest batch and gives the one that follows. */
  const next = async (end: 'go' | 'fail' = 'go') => {
    batches.at(-1)?.[end]()
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    return batches.at(-1)?.texts.map(({ name }) => name) ?? []
  }
  const equip = (catalog: Catalog) => drive(documents.equip(catalog))
  return { clock, encoder, vectors, batches, seen, documents, equip, next }
}

function build(servers: Record<string, FixtureServer>, previous?: Catalog): Catalog {
  const generation = (previous?.generation ?? 0) + 1
  return drive(buildCatalog(snapshotOf(servers, {}, generation), previous))
}

/** The catalog as it comes from a discoverer that encodes. */
function withVectors(catalog: Catalog, encoder: string, share = 1): Catalog {
  const catalogs = [...catalog.catalogs].map(([name, list]) => {
    const texts = searchTexts(catalog.servers.get(name) ?? assert.fail(), list)
    const some = texts.slice(0, Math.ceil(texts.length * share))
    const vectors = new Map(some.map(({ key, full }) => [key, quantize(embed(full))]))
    return [name, { ...list, vectors: packVectors(encoder, vectors) }] as const
  })
  return { ...catalog, catalogs: new Map(catalogs) }
}

const pending = ({ vectors }: Catalog) => (vectors?.tools.pending ?? 0) + (vectors?.extras.pending ?? 0)

test('vectors sent with the lists are used, those of another encoder are not', () => {
  const { equip, batches, encoder } = start()
  const prompts = [{ name: 'greet', description: 'Says hello' }]
  const built = build({ a: tools(4, 'read'), b: { offers: { ...tools(2, 'write').offers, prompts } } })
  assert.equal(pending(equip(built)), 7)
  assert.equal(pending(equip(withVectors(built, 'another/1'))), 7)
  assert.equal(pending(equip(withVectors(built, encoder.id, 0.5))), 3)
  const whole = equip(withVectors(built, encoder.id))
  assert.equal(pending(whole), 0)
  assert.equal(whole.index, built.index)
  const similar = whole.vectors?.tools.similarities(quantize(embed('b write 1'))) ?? assert.fail()
  assert.equal(similar.indexOf(Math.max(...similar)), 5)
  assert.equal(batches.length, 0)
})

test('a catalog in which only states changed keeps its vectors', () => {
  const { equip, encoder } = start()
  const first = equip(withVectors(build({ a: tools(3, 'read') }), encoder.id))
  const again = equip({ ...first, generation: 2, vectors: undefined })
  assert.equal(again.vectors, first.vectors)
})

test('texts are encoded in turn, a few of each server, and their vectors are added once a second and at the end', async t => {
  const { documents, equip, clock, batches, seen, next } = start(8)
  t.after(() => documents.close())
  const large = build({ large: tools(100, 'read') })
  equip(large)
  assert.equal(batches[0]?.texts.length, 8)
  const both = build({ large: tools(100, 'read'), small: tools(2, 'write') }, large)
  equip(both)
  clock.advance(60)
  assert.match((await next())[0] ?? '', /^large/)
  assert.deepEqual([batches.length, seen.vectors], [2, 0])
  clock.advance(60)
  assert.match((await next())[0] ?? '', /^small write/)
  clock.advance(1_000)
  assert.equal(seen.vectors, 1)
  assert.equal(pending(equip(both)), 86)
  // The clock stands still, so batches seem to come from the cache, and the next ones are larger.
  while (pending(equip(both)) > 0) await next()
  assert.ok(batches.length < 10, `${batches.length} batches`)
  const all = batches.flatMap(({ texts }) => texts.map(({ key }) => key))
  assert.equal(new Set(all).size, all.length)
  assert.equal(seen.vectors, 2)
})

test('a failed batch is retried later, text by text, after the others', async t => {
  const { documents, equip, clock, batches, seen, next } = start(2)
  t.after(() => documents.close())
  equip(build({ a: tools(2, 'read'), b: tools(1, 'write') }))
  const first = batches[0]?.texts.map(({ name }) => name)
  await next('fail')
  assert.equal(seen.errors.length, 1)
  assert.equal(batches.length, 1)
  clock.advance(1_000)
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  assert.deepEqual(
    batches[1]?.texts.map(({ name }) => name),
    ['b write 0'],
  )
  const again = await next()
  assert.equal(again.length, 2)
  assert.deepEqual([...again].sort(), [...(first ?? [])].sort())
  assert.deepEqual(await next(), again)
  assert.equal(seen.vectors, 1)
})

test('closing stops the encoding, even within a batch', async () => {
  const { documents, equip, batches, seen, next } = start(1)
  equip(build({ a: tools(3, 'read') }))
  documents.close()
  await next()
  assert.deepEqual([batches.length, seen.vectors, seen.errors.length], [1, 0, 0])
})

test('a tool that was removed and added again needs no encoding', async t => {
  const { documents, equip, batches, next } = start(8)
  t.after(() => documents.close())
  const catalog = build({ a: tools(3, 'read') })
  equip(catalog)
  await next()
  equip(build({}, catalog))
  assert.equal(pending(equip(build({ a: tools(3, 'read') }))), 0)
  assert.equal(batches.length, 1)
})

test('texts that only one user has are encoded one at a time; all other vectors are used at once', async t => {
  const { documents, equip, encoder, batches, seen, next } = start()
  t.after(() => documents.close())
  const whole = equip(withVectors(build({ a: tools(2, 'read'), b: tools(1, 'write') }), encoder.id))
  const list = build({ a: tools(4, 'read') }).catalogs.get('a') ?? assert.fail()
  const own = drive(buildOwnCatalog(whole, new Map([['a', list]])))
  const equipOwn = () => drive(documents.equipOwn(own))
  assert.equal(pending(equipOwn()), 2)
  assert.equal(pending(equipOwn()), 2)
  await nextTurn()
  assert.deepEqual([batches.length, batches[0]?.texts.length], [1, 1])
  await next()
  assert.equal(pending(equipOwn()), 1)
  await next()
  assert.equal(pending(equipOwn()), 0)
  assert.deepEqual([batches.length, seen.own, seen.vectors], [2, 1, 0])
  assert.equal(pending(equip(whole)), 0)
})

test('vectors of texts that only some users have are stored apart from the others, and not dropped with them', async t => {
  const { documents, equip, encoder, vectors, batches, next } = start()
  t.after(() => documents.close())
  const whole = equip(withVectors(build({ a: tools(2, 'read') }), encoder.id))
  const list = build({ a: tools(3, 'read') }).catalogs.get('a') ?? assert.fail()
  const own = drive(buildOwnCatalog(whole, new Map([['a', list]])))
  drive(documents.equipOwn(own))
  await nextTurn()
  await next()
  assert.equal(vectors.size, 2)
  // More unused vectors than are kept.
  for (let at = 0; at < 6_000; at++) vectors.set(`gone ${at}`, quantize([1]))
  equip(build({ a: tools(2, 'read'), b: tools(1, 'write') }, whole))
  assert.ok(vectors.size < 6_000)
  assert.equal(pending(drive(documents.equipOwn(own))), 0)
  assert.equal(batches.length, 1)
})
