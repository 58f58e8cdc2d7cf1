/** `x-mcp-header` marks in a schema, valid and invalid ones, and the headers of a call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../json.ts'
import { headersOfParams, paramHeadersOf, wrongParamHeader } from './param-headers.ts'

const marked = (name: unknown, more: JsonObject = { type: 'string' }) =>
  ({ ...more, 'x-mcp-header': name }) as JsonObject
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})

test('headers are made from the arguments that the schema marks, at any depth', () => {
  const schema = schemaOf({
    region: marked('Region'),
    on: marked('On', { type: 'boolean' }),
    at: schemaOf({ zone: marked('Zone', { type: 'integer' }) }),
    list: marked('List', { type: 'array' }),
    absent: marked('Absent'),
    plain: { type: 'string' },
  })
  const args = { region: 'Zürich\n', on: false, at: { zone: 7 }, list: [1], plain: 'x', absent: null }
  assert.deepEqual(headersOfParams(paramHeadersOf(schema), args), {
    'mcp-param-region': `=?base64?${Buffer.from('Zürich\n').toString('base64')}?=`,
    'mcp-param-on': 'false',
    'mcp-param-zone': '7',
  })
})

test('no header is made from a number that was rounded or from a property of a prototype', () => {
  const schema = schemaOf({
    id: marked('Id', { type: 'integer' }),
    constructor: schemaOf({ name: marked('Name') }),
  })
  assert.deepEqual(headersOfParams(paramHeadersOf(schema), JSON.parse('{"id":9007199254740993}')), {})
})

test('invalid header marks are found at any depth', () => {
  const text = marked('Text')
  for (const [schema, wrong] of [
    [schemaOf({ a: marked('') }), /not a valid header name/],
    [schemaOf({ a: marked('a b') }), /not a valid header name/],
    [schemaOf({ a: marked(1) }), /not a valid header name/],
    [schemaOf({ a: marked('A', { type: 'object' }) }), /not a string/],
    [schemaOf({ a: marked('A', { type: 'number' }) }), /not a string/],
    [schemaOf({ a: marked('A', {}) }), /not a string/],
    [schemaOf({ a: marked('Same'), b: schemaOf({ c: marked('sAME') }) }), /twice/],
    [schemaOf({ a: { type: 'array', items: text } }), /not a single argument/],
    [schemaOf({ a: { anyOf: [{ type: 'null' }, schemaOf({ b: text })] } }), /not a single argument/],
    [schemaOf({}, { $defs: { a: text } }), /not a single argument/],
    [marked('Root', { type: 'object' }), /not a single argument/],
  ] as const)
    assert.match(wrongParamHeader(schema) ?? 'nothing', wrong, JSON.stringify(schema))
})

test('valid header marks, and properties with the same name, are accepted', () => {
  for (const schema of [
    {},
    schemaOf({ a: marked('A'), b: schemaOf({ c: marked('C', { type: 'integer' }) }) }),
    schemaOf({ 'x-mcp-header': { type: 'string' } }),
  ])
    assert.equal(wrongParamHeader(schema), undefined, JSON.stringify(schema))
})
