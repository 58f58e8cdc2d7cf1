/** Folded schemas: within their budget, whatever the schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { isObject, type JsonObject, type JsonValue } from '../../../core/json.ts'
import { onlyRecorded } from '../../../test/search/where-recorded.ts'
import { cpuMs } from '../../../test/support/cpu-time.ts'
import { defaultCatalogs } from '../../../test/upstreams/replay/catalogs.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import { foldSchema } from './fold.ts'
import { foldedComment } from './folded-comment.ts'

const count = (value: JsonValue): number => encode(JSON.stringify(value)).length

/** A text that is repeated until it is too large. */
const words = (many: number): string => 'several words that say little '.repeat(many)

test('a schema that fits is returned as the same object', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  assert.deepEqual(foldSchema(schema, 100, 20), { schema, folded: false, tokens: 20 })
  assert.equal(foldSchema(schema, 100, 20).schema, schema)
})

test('required properties come first with their types; optional ones that are deep keep only their type', () => {
  const deep = {
    type: 'object',
    description: words(40),
    properties: { inner: { type: 'object', properties: { innermost: { enum: words(9).split(' ') } } } },
  }
  const schema = {
    type: 'object',
    properties: { filter: deep, options: deep, id: { type: 'integer', description: 'The id' } },
    required: ['id', 'filter'],
  }
  const { schema: shown, folded } = foldSchema(schema, 60, count(schema))
  const properties = shown.properties as JsonObject
  assert.equal(folded, true)
  assert.deepEqual(Object.keys(properties), ['filter', 'id', 'options'])
  assert.deepEqual(shown.required, ['id', 'filter'])
  assert.equal((properties.id as JsonObject).type, 'integer')
  assert.deepEqual(
    [(properties.options as JsonObject).type, (properties.options as JsonObject).$comment],
    ['object', 'folded: inner'],
  )
})

test('a folded object names its properties, required ones first, and a choice its alternatives', () => {
  const point = {
    type: 'object',
    properties: { note: {}, latitude: { type: 'number' }, longitude: { type: 'number' } },
    required: ['latitude', 'longitude'],
  }
  const inside = { place: point, where: { anyOf: [point, { type: 'string' }] } }
  const under = (properties: JsonObject) => ({ type: 'object', properties })
  const deep = under({ a: under({ b: under({ c: under(inside) }) }) })
  const schema = { ...deep, description: words(100) }
  const shown = JSON.stringify(foldSchema(schema, 150, count(schema)).schema)
  assert.match(shown, /"place":\{"type":"object","\$comment":"folded: latitude, longitude, note"/)
  assert.match(shown, /"where":\{"\$comment":"folded: \{latitude, longitude, note\} or string"/)
})

test('a folded choice names its constants, and a folded array the alternatives of its items', () => {
  const commentOf = (part: JsonObject) => foldedComment(part, 6)
  const consts = ['asc', 'desc', 3].map(value => ({ type: 'string', const: value }))
  assert.equal(commentOf({ anyOf: consts }), 'folded: "asc" or "desc" or 3')
  assert.equal(
    commentOf({ anyOf: [{ type: 'string' }, { type: 'string', format: 'uri' }] }),
    'folded: string',
  )
  const many = Array.from({ length: 9 }, (_, at) => ({ const: at }))
  assert.equal(commentOf({ oneOf: many }), 'folded: 0 or 1 or 2 or 3 or 4 or 5 or …')
  const kinds = ['keys', 'fields'].map(name => ({ properties: { type: {}, [name]: {} } }))
  assert.equal(
    commentOf({ type: 'array', items: { oneOf: kinds } }),
    'folded: {type, keys} or {type, fields}',
  )
  assert.equal(commentOf({ type: 'array', items: { anyOf: consts } }), 'folded: "asc" or "desc" or 3')
  assert.equal(commentOf({ anyOf: [{ const: { a: 1 } }, { const: 'b' }] }), 'folded')
})

test('an object that may contain anything is not marked as folded, and neither is an array of plain values', () => {
  const row = { type: 'object', properties: { id: { enum: words(9).split(' ') }, name: {} } }
  const properties = {
    filter: { type: 'object', additionalProperties: true, description: words(20) },
    projection: { type: 'object', properties: {}, description: words(20) },
    tags: { type: 'array', items: { type: 'string', minLength: 1 }, description: words(20) },
    rows: { type: 'array', items: row, description: words(20) },
  }
  const schema = { type: 'object', properties }
  const { schema: shown } = foldSchema(schema, 75, count(schema))
  const { filter, projection, tags, rows } = shown.properties as { [name: string]: JsonObject }
  assert.deepEqual(filter, { type: 'object', additionalProperties: true })
  assert.deepEqual(projection, { type: 'object', properties: {} })
  assert.deepEqual(tags, { type: 'array', items: { type: 'string', minLength: 1 } })
  assert.deepEqual(rows, { type: 'array', items: { type: 'object', $comment: 'folded: id, name' } })
})

test('a folded schema uses most of its budget', t => {
  if (!onlyRecorded(t)) return
  const shares: number[] = []
  for (const { tools } of defaultCatalogs())
    for (const { inputSchema } of tools) {
      const whole = count(inputSchema)
      if (whole <= 400) continue
      for (const most of [100, 200, 400]) shares.push(foldSchema(inputSchema, most, whole).tokens / most)
    }
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
  assert.ok(mean > 0.72, `${mean} of ${shares.length}`)
})

test('short enums of strings are never cut, and long ones keep values similar to the query', () => {
  const profiles = ['mapbox/driving-traffic', 'mapbox/driving', 'mapbox/walking', 'mapbox/cycling']
  const actions = Array.from({ length: 60 }, (_, at) => `annotate_${at}`).concat('highlight_text', 'stamp')
  const schema = {
    type: 'object',
    properties: {
      profile: { type: 'string', description: words(60), enum: profiles },
      action: { type: 'string', description: words(60), enum: actions },
    },
  }
  for (const most of [110, 160]) {
    const { schema: shown } = foldSchema(schema, most, count(schema), new Set(['highlight']))
    const { profile, action } = shown.properties as { [name: string]: JsonObject }
    assert.deepEqual(profile?.enum, profiles)
    assert.ok((action?.enum as string[]).includes('highlight_text'), JSON.stringify(action))
    assert.ok(!(action?.enum as string[]).includes('stamp'))
  }
})

test('if every property is shown with its type, the comment says "only types" and not that there are more', () => {
  const part = { type: 'string', description: words(10), pattern: 'a'.repeat(70), enum: ['on', 'off'] }
  const names = Array.from({ length: 10 }, (_, at) => `flag_${at}`)
  const properties = Object.fromEntries(names.map(name => [name, part]))
  const schema = { type: 'object', properties }
  const { schema: shown } = foldSchema(schema, 230, count(schema))
  assert.equal(shown.$comment, 'folded: only types')
  assert.deepEqual((shown.properties as JsonObject).flag_9, { type: 'string', enum: ['on', 'off'] })
})

test('enums are cut and say how many more there are', () => {
  const values = Array.from({ length: 300 }, (_, at) => `value-${at}`)
  const schema = { type: 'object', properties: { region: { type: 'string', enum: values } } }
  const { schema: shown } = foldSchema(schema, 250, count(schema))
  assert.deepEqual((shown.properties as JsonObject).region, {
    type: 'string',
    enum: values.slice(0, 20),
    $comment: '280 more values: …/enum/20',
  })
})

test('what is left out of an enum begins at the first value that is not shown, also if that is too long to be shown', () => {
  const values = Array.from({ length: 300 }, (_, at) => (at === 3 ? 'x'.repeat(500) : `value-${at}`))
  const schema = { type: 'object', properties: { region: { type: 'string', enum: values } } }
  const { schema: shown } = foldSchema(schema, 250, count(schema))
  assert.deepEqual((shown.properties as JsonObject).region, {
    type: 'string',
    enum: values.slice(0, 20).toSpliced(3, 1),
    $comment: '281 more values: …/enum/3',
  })
})

test('references are replaced by their definitions, which are left out', () => {
  const schema = {
    type: 'object',
    properties: { point: { $ref: '#/$defs/Point', description: 'Where' }, gone: { $ref: '#/$defs/Nothing' } },
    required: ['point'],
    $defs: {
      Point: { type: 'array', items: { type: 'number' }, minItems: 2 },
      Unused: { description: words(100) },
    },
  }
  const { schema: shown } = foldSchema(schema, 120, count(schema))
  assert.deepEqual(shown, {
    type: 'object',
    properties: {
      point: { type: 'array', minItems: 2, description: 'Where', items: { type: 'number' } },
      gone: { $comment: 'folded' },
    },
    required: ['point'],
  })
})

test('of very many properties as many as fit are shown, with the number of the others', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`field_${at}`, { type: 'string' }]),
  )
  const { schema: shown, tokens } = foldSchema({ type: 'object', properties, required: ['field_2999'] }, 200)
  const given = Object.keys(shown.properties as JsonObject)
  assert.equal(given[0], 'field_2999')
  assert.ok(given.length > 10 && tokens <= 200 && count(shown) <= 200, `${given.length}`)
  assert.equal(shown.$comment, `folded: ${3_000 - given.length} more of 3000 properties`)
})

test('hostile schemas are folded in bounded time: cycles, doubling references, depth, size, and values that are no schema', () => {
  const doubling: JsonObject = {}
  for (let at = 0; at < 40; at++)
    doubling[`d${at}`] = {
      anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }],
      properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } },
    }
  let deep: JsonObject = { description: words(100) }
  for (let at = 0; at < 60; at++) deep = { properties: { deeper: deep }, required: ['deeper'] }
  const hostile: JsonObject[] = [
    { $ref: '#', description: words(100) },
    { properties: { self: { $ref: '#' } }, description: words(200) },
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, title: words(100) },
    { $ref: '#/$defs/d0', $defs: doubling },
    deep,
    { properties: { ['n'.repeat(200_000)]: { type: 'x'.repeat(50_000) } }, required: 'all' },
    {
      properties: [],
      required: [1, null, 'toString'],
      enum: [words(1_000)],
      anyOf: 7,
      description: { a: words(300) },
    },
    { properties: { a: null, b: 1, c: true, d: false, e: [] }, items: [1], description: words(300) },
    { properties: { __proto__: { type: 'string' }, constructor: {} }, description: words(300) },
  ]
  for (const schema of hostile)
    for (const most of [0, 20, 100, 1_000]) {
      const tokens = Math.max(estimateTokens(JSON.stringify(schema)), most + 1)
      const started = cpuMs()
      const { schema: shown } = foldSchema(schema, most, tokens)
      assert.ok(cpuMs() - started < 500)
      assert.ok(isObject(shown))
      const cost = count(shown)
      assert.ok(most < 40 || cost <= 1.1 * most, `${cost} of ${most}: ${JSON.stringify(shown).slice(0, 200)}`)
    }
})

test('every recorded schema is folded within every budget, deterministically, with its required properties', () => {
  for (const { tools } of defaultCatalogs())
    for (const { name, inputSchema } of tools) {
      const whole = count(inputSchema)
      for (const most of [100, 300, 900]) {
        if (whole <= most) continue
        const { schema } = foldSchema(inputSchema, most, whole)
        assert.ok(count(schema) <= most, `${name}: ${count(schema)} of ${most}`)
        assert.deepEqual(foldSchema(inputSchema, most, whole).schema, schema)
        if (most === 900) assert.deepEqual(schema.required ?? [], inputSchema.required ?? [], name)
      }
    }
})

test('thousands of references to one large part are folded in bounded time', t => {
  const many = (mark: string) => Array.from({ length: 15_000 }, (_, at) => `${mark}${at}`)
  const keys = Object.fromEntries(many('k').map(key => [key, 1]))
  const large: JsonObject[] = [
    keys,
    { default: keys },
    { enum: ['x'.repeat(200_000)] },
    { properties: {}, required: many('r') },
    { anyOf: [{ $ref: `#/${'a/'.repeat(90_000)}` }] },
  ]
  const anyOf = Array.from({ length: 4_000 }, () => ({ $ref: '#/$defs/Large' }))
  const startedMs = cpuMs()
  for (const Large of large) assert.ok(foldSchema({ anyOf, $defs: { Large } }, 1_200, 60_000).folded)
  const ms = cpuMs() - startedMs
  t.diagnostic(`${large.length} schemas: ${ms.toFixed(0)} ms`)
  assert.ok(ms < 3_000, `${ms} ms`)
})
