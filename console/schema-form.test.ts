/** Forms of schemas. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson, type JsonObject, type JsonValue } from '../core/json.ts'
import { ABSENT, draftOf, emptyDraft, type Field, formOf, valueIn } from './schema-form.ts'

function fieldsIn(field: Field): number {
  if (field.kind === 'list') return 1 + fieldsIn(field.item)
  const inner = field.kind === 'object' ? field.properties : []
  return inner.reduce((sum, property) => sum + fieldsIn(property.field), 1)
}

const SCHEMA: JsonObject = {
  type: 'object',
  required: ['path', 'options'],
  properties: {
    note: { type: ['string', 'null'] },
    path: { type: 'string' },
    options: {
      type: 'object',
      required: ['depth'],
      properties: { depth: { type: 'integer' }, all: { type: 'boolean' } },
    },
    sort: { anyOf: [{ enum: ['name', 'size'] }, { type: 'null' }] },
    edits: { type: 'array', items: { $ref: '#/$defs/edit' } },
    extra: { additionalProperties: { type: 'string' } },
  },
  $defs: {
    edit: { type: 'object', properties: { oldText: { type: 'string' }, next: { $ref: '#/$defs/edit' } } },
  },
}

test('required arguments come first, and each kind of schema has its field', () => {
  const { properties } = formOf(SCHEMA)
  assert.deepEqual(
    properties.map(({ name, field }) => [name, field.kind]),
    [
      ['path', 'text'],
      ['options', 'object'],
      ['note', 'text'],
      ['sort', 'choice'],
      ['edits', 'list'],
      ['extra', 'json'],
    ],
  )
})

test('only fields that were filled in are sent, and missing or invalid values are reported with their path', () => {
  const form = formOf(SCHEMA)
  const { value, problems } = valueIn(form, emptyDraft(form))
  assert.deepEqual(value, { options: {} })
  assert.deepEqual(
    problems.map(({ path, message }) => `${path} ${message}`),
    ['path is required', 'options.depth is required'],
  )
  const typed = draftOf(form, { path: 'a', options: { depth: 3 }, edits: [{ oldText: 'x' }], more: 1 })
  assert.deepEqual(valueIn(form, typed), {
    value: { path: 'a', options: { depth: 3 }, edits: [{ oldText: 'x' }], more: 1 },
    problems: [],
  })
  const field = { kind: 'number', isWhole: true } as const
  for (const text of ['x', '1.5', '1e999', '0x10'])
    assert.equal(valueIn(field, { kind: 'typed', text }).problems.length, 1, text)
  assert.deepEqual(valueIn(field, { kind: 'typed', text: '1e3' }).value, 1_000)
  assert.equal(valueIn({ kind: 'json' }, { kind: 'json', text: '{' }).problems[0]?.message, 'is not JSON')
  assert.deepEqual(valueIn({ kind: 'text', isLong: false }, ABSENT), { problems: [] })
})

test('any value that is shown in the form of any schema is read back unchanged', () => {
  const part = fc.letrec<{ schema: JsonObject }>(tie => ({
    schema: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<JsonObject>(
        { type: 'string' },
        { type: 'number' },
        { type: 'integer' },
        { type: 'boolean' },
        {},
        { enum: [1, 'a', null] },
      ),
      tie('schema').map((items): JsonObject => ({ type: 'array', items })),
      fc
        .dictionary(fc.string({ maxLength: 4 }), tie('schema'), { maxKeys: 4 })
        .map((properties): JsonObject => ({ type: 'object', properties })),
    ),
  }))
  const names = fc.string({ maxLength: 4 })
  const object = fc.dictionary(names, fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>, {
    maxKeys: 4,
  })
  const schema = fc
    .dictionary(names, part.schema, { maxKeys: 4 })
    .map((properties): JsonObject => ({ type: 'object', properties }))
  fc.assert(
    fc.property(schema, object, (schema, value) => {
      const form = formOf(schema)
      const made = valueIn(form, draftOf(form, value))
      assert.equal(canonicalJson(made.value), canonicalJson(value))
      assert.deepEqual(made.problems, [])
    }),
    { numRuns: 500 },
  )
})

test('a schema that refers to itself, or to nothing, has a form', () => {
  for (const properties of [
    { a: { $ref: '#' } },
    { a: { $ref: '#/nothing' } },
    { a: { $ref: 'http://x' } },
    { a: { $ref: '#/properties/a' } },
    { a: false },
    { a: [] },
  ] as JsonObject[])
    assert.equal(formOf({ type: 'object', properties }).properties.length, 1)
  for (const schema of [{}, { type: 'string' }, { properties: 3 }] as JsonObject[])
    assert.deepEqual(formOf(schema).properties, [])
})

test('however often a schema refers to itself, its form has at most 1,000 fields, equally many for each property', () => {
  const names = Array.from({ length: 30 }, (_, at) => `p${at}`)
  const all = (part: JsonObject) => Object.fromEntries(names.map(name => [name, part]))
  const { properties } = formOf({ type: 'object', required: names, properties: all({ $ref: '#' }) })
  const sizes = new Set(properties.map(({ field }) => fieldsIn(field)))
  assert.equal(properties.length, 30)
  assert.deepEqual([...sizes], [31])
  const several = { anyOf: names.map(() => ({ $ref: '#/$defs/several' })) }
  const form = formOf({
    properties: { ...all({ $ref: '#/$defs/several' }), text: { type: 'string' } },
    $defs: { several },
  })
  assert.ok(fieldsIn(form) < 1_000)
})

test('if a form would have too many fields, inner objects are typed as JSON, and other properties keep their fields', () => {
  const part = {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, {}])),
  }
  const { properties } = formOf({
    properties: {
      ...Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`part${at}`, part])),
      text: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      texts: { type: 'array', items: { type: 'string' } },
    },
  })
  assert.deepEqual(
    properties.slice(-3).map(({ field }) => field.kind),
    ['json', 'text', 'list'],
  )
})

test('a reference with a description of its own keeps it', () => {
  const { properties } = formOf({
    properties: { statement: { $ref: '#/$defs/text', description: 'The SQL query' } },
    $defs: { text: { type: 'string', title: 'Text', description: 'A text' } },
  })
  assert.deepEqual(properties[0]?.field, {
    kind: 'text',
    isLong: true,
    title: 'Text',
    description: 'The SQL query',
  })
})

test('a whole number that would be rounded when it is sent is refused, and one that is shown is sent unchanged', () => {
  for (const isWhole of [true, false]) {
    const field = { kind: 'number', isWhole } as const
    for (const text of ['9007199254740993', '-9007199254740993', '1234567890123456789'])
      assert.deepEqual(valueIn(field, { kind: 'typed', text }, 'id'), {
        problems: [{ path: 'id', message: 'is too large: it would be rounded' }],
      })
    for (const text of ['9007199254740992', '-9007199254740991', '1e20'])
      assert.deepEqual(valueIn(field, { kind: 'typed', text }), { value: Number(text), problems: [] })
    for (const value of [2 ** 53, 2 ** 60, 1e20, 1e21])
      assert.deepEqual(valueIn(field, draftOf(field, value)), { value, problems: [] })
  }
  const json = { kind: 'json' } as const
  assert.deepEqual(valueIn(json, { kind: 'json', text: '{"ids": [1, 9007199254740993]}' }, 'a').problems, [
    { path: 'a', message: 'has a number that would be rounded' },
  ])
  const text = '{"id": "9007199254740993", "size": 1152921504606847000}'
  assert.deepEqual(valueIn(json, { kind: 'json', text }), { value: JSON.parse(text), problems: [] })
})

test('of more properties than a form shows, the required ones are in it', () => {
  const names = Array.from({ length: 300 }, (_, at) => `p${at}`)
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]))
  const form = formOf({ type: 'object', properties, required: ['p299'] })
  assert.equal(form.properties.length, 200)
  assert.deepEqual(valueIn(form, emptyDraft(form)).problems, [{ path: 'p299', message: 'is required' }])
})
