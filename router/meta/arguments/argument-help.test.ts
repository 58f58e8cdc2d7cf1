/** Which arguments are said not to fit, and what of the schema is shown with them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argumentHelp } from './argument-help.ts'

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Of the city' },
    days: {
      type: 'array',
      items: { type: 'object', properties: { date: { type: 'string' }, hot: { type: 'boolean' } } },
    },
  },
  required: ['name'],
  additionalProperties: false,
}

test('arguments that fit need no help', () => {
  assert.equal(argumentHelp(SCHEMA, { name: 'Oslo', days: [{ date: 'today', hot: false }] }), undefined)
})

test('the failing path is named, however deep, with the part of the schema that is meant', () => {
  const help = argumentHelp(SCHEMA, { name: 'Oslo', days: [{}, { hot: 'yes' }] }) ?? ''
  assert.match(
    help,
    /^The arguments do not fit the input_schema:\n- days\.1\.hot: .*; schema there: \{"type":"boolean"\}$/,
  )
})

test('a missing argument shows its description, an unknown one the names that there are', () => {
  const help = argumentHelp(SCHEMA, { town: 'Oslo' }) ?? ''
  assert.match(help, /- name: .*; schema there: \{"type":"string","description":"Of the city"\}/)
  assert.match(
    help,
    /- arguments: .*town.*; schema there: \{"required":\["name"\],"properties":\["name","days"\]\}/,
  )
})

test('help stays short, whatever the schema and the arguments', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 500 }, (_, i) => [`field${i}`, { type: 'string', description: 'x'.repeat(5_000) }]),
  )
  const help = argumentHelp({ type: 'object', properties, required: Object.keys(properties) }, {}) ?? ''
  assert.ok(help.length > 100 && help.length < 4_000, `${help.length} characters`)
})

test("a server's regular expressions are not run", () => {
  const evil = { type: 'string', pattern: '^(a+)+$', format: 'email' }
  const schema = {
    type: 'object',
    properties: { text: evil, pattern: { type: 'number' } },
    patternProperties: { '^(a+)+$': { type: 'number' } },
  }
  const begun = performance.now()
  assert.equal(
    argumentHelp(schema, { text: `${'a'.repeat(40)}!`, [`${'a'.repeat(40)}!`]: 1, pattern: 1 }),
    undefined,
  )
  assert.match(argumentHelp(schema, { pattern: 'x' }) ?? '', /- pattern: /)
  assert.ok(performance.now() - begun < 5_000)
})

test('a schema that cannot be read gives no help', () => {
  assert.equal(
    argumentHelp(
      { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } },
      { a: 1 },
    ),
    undefined,
  )
  assert.equal(argumentHelp({ type: 'nonsense' }, { a: 1 }), undefined)
})
