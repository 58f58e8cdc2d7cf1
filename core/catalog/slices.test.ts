/** Slices: any catalog survives a round trip in equal bytes that fit a ConfigMap; incomplete and damaged ones are refused. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { JsonObject } from '../json.ts'
import type { CatalogVectors, ServerCatalog } from './server-catalog.ts'
import { decodeSlices, encodeSlices, MAX_SLICE_BYTES, readSlice, SLICE_FORMAT, type Slice } from './slices.ts'
import { packVectors, quantize } from './vectors.ts'
import { catalogVersion } from './version.ts'

const MANY_BYTES = 5 * 2 ** 20

test('any catalog survives a round trip, with its parts in any order', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const object = fc.dictionary(fc.string(), json) as fc.Arbitrary<JsonObject>
  const tool = fc.record({ name: fc.string(), description: fc.string(), extra: json, inputSchema: object })
  fc.assert(
    fc.property(fc.array(tool, { maxLength: 20 }), fc.array(object), object, (tools, items, capabilities) => {
      const resources = items.map((item, at) => ({ ...item, uri: `file:///${at}` }))
      const catalog = catalogOf({ tools: tools.map(counted), resources, capabilities })
      const slices = encodeSlices(catalog)
      assert.deepEqual(encodeSlices(structuredClone(catalog)), slices)
      // Slices contain JSON, which has neither -0 nor undefined.
      assert.deepEqual(decodeSlices(slices.reverse()), JSON.parse(JSON.stringify(catalog)))
    }),
    { numRuns: 50 },
  )
})

test('a large catalog is cut into parts that fit a ConfigMap', () => {
  const slices = encodeSlices(large())
  assert.ok(slices.length > 5, `${slices.length} parts`)
  for (const [part, { header, payload }] of slices.entries()) {
    assert.ok(payload.length <= MAX_SLICE_BYTES && payload.toString('base64').length < 2 ** 20)
    assert.deepEqual(header, { format: SLICE_FORMAT, digest: 'abc', parts: slices.length, part })
  }
  assert.deepEqual(decodeSlices(slices), large())
})

test('a set that is incomplete, mixed or damaged is rejected', () => {
  const slices = encodeSlices(large())
  const changed = (at: number, change: (slice: Slice) => Slice) =>
    slices.map((slice, position) => (position === at ? change(slice) : slice))
  const header = (change: Partial<Slice['header']>) => (slice: Slice) => ({
    ...slice,
    header: { ...slice.header, ...change },
  })
  const refused = (given: Slice[], message: RegExp) =>
    assert.throws(() => decodeSlices(given), { name: 'Fault', code: 'invalid_data', message })
  refused([], /no slices/)
  refused(slices.slice(1), /one complete set/)
  refused(slices.slice(0, -1), /one complete set/)
  refused([...slices, ...slices], /one complete set/)
  refused(changed(1, header({ digest: 'other' })), /one complete set/)
  refused(changed(1, header({ parts: 2 })), /one complete set/)
  refused(changed(1, header({ encoder: 'other' })), /one complete set/)
  refused(changed(1, header({ format: SLICE_FORMAT - 1 })), /one complete set/)
  refused(
    changed(2, ({ header, payload }) => ({ header, payload: payload.subarray(1) })),
    /damaged/,
  )
  refused(
    changed(2, slice => ({ ...slice, payload: Buffer.alloc(slice.payload.length, 1) })),
    /damaged/,
  )
  refused(slices.map(header({ digest: 'other' })), /do not contain the catalog version/)
})

test('the previous format is read, later ones are rejected', () => {
  const inFormat = (format: number) =>
    encodeSlices(catalogOf({})).map(({ header, payload }) => ({ header: { ...header, format }, payload }))
  assert.deepEqual(decodeSlices(inFormat(SLICE_FORMAT - 1)), catalogOf({}))
  assert.throws(() => decodeSlices(inFormat(SLICE_FORMAT + 1)), {
    code: 'invalid_data',
    message: /format 2; supported are 0 and 1/,
  })
})

test('text that is not a catalog, or whose decompressed size is unbounded, is rejected', () => {
  const set = (value: Buffer): Slice[] => [
    { header: { format: SLICE_FORMAT, digest: 'abc', parts: 1, part: 0 }, payload: gzipSync(value) },
  ]
  const { tools: _, ...lacking } = catalogOf({})
  assert.throws(() => decodeSlices(set(Buffer.from(JSON.stringify(lacking)))), { code: 'invalid_data' })
  assert.throws(() => decodeSlices(set(Buffer.from('[1]'))), { code: 'invalid_data' })
  assert.throws(() => decodeSlices(set(Buffer.alloc(129 * 2 ** 20, 32))), {
    code: 'invalid_data',
    message: /damaged/,
  })
})

test('vectors are sent with their catalog, whose version includes them; invalid vectors are left out', () => {
  const vectors = packVectors('hashing/1', new Map([['key', quantize([1, 0, -1])]]))
  const slices = encodeSlices(catalogOf({ vectors }))
  assert.deepEqual(decodeSlices(slices), catalogOf({ vectors }))
  const [{ header } = assert.fail()] = slices
  assert.equal(header.encoder, 'hashing/1')
  assert.equal(header.digest, catalogVersion(catalogOf({ vectors })))
  const other = packVectors('hashing/1', new Map([['key', quantize([1, 0, 1])]]))
  const versions = [{}, { vectors }, { vectors: other }, { vectors, digest: 'other' }].map(changes =>
    catalogVersion(catalogOf(changes)),
  )
  assert.equal(new Set(versions).size, 4)
  assert.equal(versions[0], 'abc')
  for (const unsound of [
    { ...vectors, data: 'AAAA' },
    { ...vectors, keys: ['key', 'more'] },
    { encoder: 'x' },
  ])
    assert.deepEqual(
      decodeSlices(encodeSlices(catalogOf({ vectors: unsound as CatalogVectors }))),
      catalogOf({}),
    )
})

test('a slice is read from its ConfigMap, and a ConfigMap without a valid one is an error', () => {
  const [slice] = encodeSlices(catalogOf({}))
  assert.ok(slice)
  const data = { header: JSON.stringify(slice.header) }
  assert.deepEqual(readSlice({ data, binaryData: { catalog: slice.payload.toString('base64') } }), slice)
  for (const header of [
    '',
    '{',
    '[]',
    '{}',
    '{"format":1,"digest":"a","parts":1.5,"part":0}',
    '{"format":1,"digest":"a","parts":1,"part":-1}',
  ])
    assert.throws(() => readSlice({ data: { header } }), { code: 'invalid_data' }, header)
  assert.throws(() => readSlice({}), { code: 'invalid_data' })
})

function catalogOf(changes: Partial<ServerCatalog>): ServerCatalog {
  return {
    server: 'files',
    protocol: '2025-11-25',
    capabilities: {},
    tools: [],
    invalid: [],
    resources: [],
    resourceTemplates: [],
    prompts: [],
    incomplete: [],
    digest: 'abc',
    ...changes,
  }
}

const NOISE = randomBytes(MANY_BYTES).toString('base64')

/** Of noise, which gzip cannot make smaller than its 6 bits a character. */
function large(): ServerCatalog {
  return catalogOf({ tools: [counted({ name: 'noise', description: NOISE, inputSchema: {} })] })
}

function counted(definition: JsonObject & { name: string; inputSchema: JsonObject }) {
  return { definition, tokens: 3, descriptionTokens: 1, schemaTokens: 1 }
}
