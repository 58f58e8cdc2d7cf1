/** What is left out of a schema that is shown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trimSchema } from './trim.ts'

const trimmed = (schema: object) => trimSchema(schema as never, 100).schema

test('unused definitions are left out; those that are used through other definitions stay', () => {
  const properties = { at: { $ref: '#/$defs/Place' } }
  const Place = { anyOf: [{ $ref: '#/$defs/Point' }, { type: 'string' }] }
  const Point = { type: 'object' }
  assert.deepEqual(trimmed({ properties, $defs: { Place, Point, Unused: { $ref: '#/$defs/Place' } } }), {
    properties,
    $defs: { Place, Point },
  })
  assert.deepEqual(trimmed({ type: 'object', definitions: { Point } }), { type: 'object' })
})

test('$schema is left out; a schema with nothing to leave out is returned as the same object', () => {
  const schema = { type: 'object', properties: {} }
  assert.equal(trimmed(schema), schema)
  const short = trimSchema({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, 30)
  assert.deepEqual(short.schema, schema)
  assert.ok(short.tokens < 30)
})

test('if a reference is not a JSON pointer, all definitions stay', () => {
  const schema = { $ref: '#place', $defs: { a: { $anchor: 'place', type: 'object' } } }
  assert.deepEqual(trimmed(schema), schema)
})
