/** Parts of schemas by JSON pointer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePartQuery, schemaPart } from './pointer.ts'

const FILTER = { type: 'object', properties: { field: { $ref: '#/$defs/Field' }, 'a/b~c': { type: 'null' } } }
const SCHEMA = {
  type: 'object',
  properties: {
    filter: FILTER,
    color: { type: 'string', enum: ['red', 'green', 'blue'] },
    shape: { $ref: '#/$defs/Shape' },
    list: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
  },
  required: ['color'],
  $defs: {
    Field: { $ref: '#/$defs/Name' },
    Name: { type: 'string' },
    Shape: { type: 'object', properties: { sides: { type: 'integer' } } },
    Loop: { $ref: '#/$defs/Loop' },
  },
}

test('a query names a part after the last #', () => {
  assert.deepEqual(parsePartQuery('a:b#/properties/c'), { path: 'a:b', pointer: '/properties/c' })
  assert.deepEqual(parsePartQuery('a:b#c#/d'), { path: 'a:b#c', pointer: '/d' })
  assert.equal(parsePartQuery('a:b'), undefined)
  assert.equal(parsePartQuery('#/a'), undefined)
})

test('a pointer leads to its part, with the definitions that it needs and no others', () => {
  const { Field, Name } = SCHEMA.$defs
  assert.deepEqual(schemaPart(SCHEMA, '/properties/filter'), { ...FILTER, $defs: { Field, Name } })
  assert.deepEqual(schemaPart(SCHEMA, '/properties/list/items/anyOf/1'), { type: 'number' })
  assert.equal(schemaPart(SCHEMA, ''), SCHEMA)
  assert.deepEqual(schemaPart(SCHEMA, '/properties/filter/properties/a~1b~0c'), { type: 'null' })
  assert.deepEqual(schemaPart(SCHEMA, '/properties/filter/properties/a%7E1b~0c'), { type: 'null' })
})

test('references are followed on the way, and "properties" may be left out', () => {
  assert.deepEqual(schemaPart(SCHEMA, '/properties/shape/properties/sides'), { type: 'integer' })
  assert.deepEqual(schemaPart(SCHEMA, 'shape/sides'), { type: 'integer' })
})

test('a pointer to a list of values gives all of them, and one to an index of an enum those from there on', () => {
  assert.deepEqual(schemaPart(SCHEMA, '/properties/color/enum'), { enum: ['red', 'green', 'blue'] })
  assert.deepEqual(schemaPart(SCHEMA, '/properties/color/enum/1'), { enum: ['green', 'blue'] })
  assert.deepEqual(schemaPart(SCHEMA, '/required'), { required: ['color'] })
})

test('a pointer to nothing finds no part', () => {
  for (const pointer of [
    '/properties/none',
    '/properties/color/enum/x',
    '/toString',
    '/__proto__',
    '/$defs/Loop/a',
    '/a'.repeat(100),
    '/properties/list/items/anyOf/9',
    '/%',
  ])
    assert.equal(schemaPart(SCHEMA, pointer), undefined, pointer)
})

test('definitions are found by escaped names, across both keywords, and beside those of the part itself', () => {
  const schema = {
    properties: {
      part: { items: { $ref: '#/definitions/a~1b' }, $defs: { Own: { type: 'null' } } },
      other: { type: 'string' },
    },
    definitions: { 'a/b': { properties: { c: { $ref: '#/$defs/C%20C' } } }, Unused: {} },
    $defs: { 'C C': { type: 'integer' }, Unused: {} },
  }
  assert.deepEqual(schemaPart(schema, '/properties/part'), {
    ...schema.properties.part,
    definitions: { 'a/b': schema.definitions['a/b'] },
    $defs: { Own: { type: 'null' }, 'C C': { type: 'integer' } },
  })
  assert.deepEqual(schemaPart(schema, '/properties/other'), { type: 'string' })
})

test('a definition named __proto__ that refers to itself is resolved like any other', {
  timeout: 5_000,
}, () => {
  const definitions = '{"__proto__": {"properties": {"next": {"$ref": "#/$defs/__proto__"}}}}'
  const part = '{"items": {"$ref": "#/$defs/__proto__"}}'
  const schema = JSON.parse(`{"properties": {"list": ${part}}, "$defs": ${definitions}}`)
  assert.equal(
    JSON.stringify(schemaPart(schema, '/properties/list')),
    JSON.stringify({ ...JSON.parse(part), $defs: JSON.parse(definitions) }),
  )
})
