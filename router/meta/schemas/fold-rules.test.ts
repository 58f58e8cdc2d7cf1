/** Rules of a folded schema contradict nothing that the tool accepts: what is not shown is marked as folded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../core/json.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import { foldSchema } from './fold.ts'

/** The schema of one property after its neighbour made the whole too large. */
function folded(part: JsonObject, $defs: JsonObject = {}): unknown {
  const long = { type: 'string', description: 'several words that say little '.repeat(200) }
  const schema = { type: 'object', properties: { part, long }, $defs }
  const { schema: shown } = foldSchema(schema, 300, estimateTokens(JSON.stringify(schema)))
  return (shown.properties as JsonObject).part
}

test('alternatives that differ in what they require are shown with it', () => {
  const anyOf = [{ required: ['id'] }, { required: ['name', 'owner'] }]
  const properties = { id: { type: 'integer' }, name: { type: 'string' }, owner: { type: 'string' } }
  assert.deepEqual(folded({ type: 'object', properties, anyOf }), { type: 'object', properties, anyOf })
  const many = { required: Array.from({ length: 60 }, (_, at) => `name_${at}`) }
  assert.deepEqual(folded({ anyOf: [many, { required: ['id'] }] }), {
    anyOf: [{ $comment: 'folded' }, { required: ['id'] }],
  })
})

test('an object with pattern properties is marked as folded, and not shown as closed', () => {
  const headers = {
    type: 'object',
    patternProperties: { '^x-': { type: 'string' } },
    additionalProperties: false,
  }
  const shown = { type: 'object', $comment: 'folded' }
  assert.deepEqual(folded(headers), shown)
  assert.deepEqual(folded({ $ref: '#/$defs/headers' }, { headers }), shown)
  const closed = { type: 'object', patternProperties: {}, additionalProperties: false }
  assert.deepEqual(folded(closed), { type: 'object', additionalProperties: false })
})

test('the items of a list are shown by their places', () => {
  const items = [{ type: 'string' }, { type: 'number' }]
  assert.deepEqual(folded({ type: 'array', items }), { type: 'array', items })
})

test('a part with a condition is marked as folded', () => {
  const part = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } } }
  for (const condition of [
    JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'),
    { dependentRequired: { a: ['b'] } },
    { dependentSchemas: { a: { required: ['b'] } } },
    { dependencies: { a: ['b'] } },
  ])
    assert.deepEqual(folded({ ...part, ...condition }), { ...part, $comment: 'folded' })
})
