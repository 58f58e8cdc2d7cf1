/** Which arguments are invalid, what of the schema is shown with them, and which problems stop no call. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../core/json.ts'
import { cpuMs } from '../../../test/support/cpu-time.ts'
import { estimateTokens } from '../../catalog/estimate.ts'
import { argumentHelp } from './argument-help.ts'
import { createSchemaChecks } from './schema-checks.ts'

const BUDGET = 1_200
const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Of the city' },
    state: { enum: ['open', 'closed'] },
    count: { type: 'integer', minimum: 1 },
    days: {
      type: 'array',
      items: { type: 'object', properties: { date: { type: 'string' }, hot: { type: 'boolean' } } },
    },
    where: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/point' }] },
  },
  required: ['name'],
  additionalProperties: false,
  $defs: { point: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] } },
}

function help(args: JsonObject, schema = SCHEMA, tokens = BUDGET): string {
  const problems = createSchemaChecks().problems(schema, args) ?? []
  return argumentHelp(schema, args, problems, tokens)
}

function fits(args: JsonObject, schema = SCHEMA): boolean | undefined {
  return createSchemaChecks().fits(schema, args)
}

test('valid arguments have no problems', () => {
  assert.equal(help({ name: 'Oslo', days: [{ date: 'today', hot: false }] }), '')
})

test('the path of a problem is shown at any depth, with its part of the schema', () => {
  assert.equal(
    help({ name: 'Oslo', days: [{}, { hot: 'yes' }] }),
    '- days.1.hot: is "yes", must be boolean; schema there: {"type":"boolean"}',
  )
})

test('a missing argument shows its description, and the unknown name that was probably meant', () => {
  assert.match(
    help({ nam: 'Oslo' }),
    /^- name: is missing; you gave "nam"; schema there: \{"type":"string","description":"Of the city"\}$/m,
  )
  assert.match(
    help({ name: 'Oslo', stat: 'open' }),
    /^- stat: is unknown; the nearest is "state"; there are: name, state,/,
  )
})

test('a value that is nested hundreds of thousands of levels deep is not shown', () => {
  const name = JSON.parse(`${'['.repeat(400_000)}${']'.repeat(400_000)}`)
  assert.match(help({ name }), /^- name: is nested deeper than 64 levels, must be string; /)
})

test('for a value that is not allowed, the nearest allowed one is shown', () => {
  assert.equal(
    help({ name: 'Oslo', state: 'opne' }),
    '- state: is "opne", none of the allowed values; the nearest is "open"; schema there: {"enum":["open","closed"]}',
  )
})

test('for an anyOf without a match, the alternatives are shown, and the mistake inside one', () => {
  const lines = help({ name: 'Oslo', where: { x: 'far' } }).split('\n')
  assert.match(
    lines[0] ?? '',
    /^- where: is .*, which fits none of the alternatives; schema there: \{"anyOf"/,
  )
  assert.match(lines[1] ?? '', /^- where\.x: is "far", must be number; schema there: \{"type":"number"\}/)
  assert.equal(lines.length, 2)
})

test('what is wrong within the alternatives of a choice is shown after all other problems', () => {
  const shape = (name: string): JsonObject => ({
    type: 'object',
    properties: { [name]: { type: 'object', properties: { deep: { type: 'number' } } } },
    required: [name],
  })
  const schema = {
    properties: {
      where: { anyOf: [shape('a'), shape('b'), shape('c')] },
      to: { type: 'string' },
      n: { type: 'number' },
    },
    required: ['to'],
  }
  const lines = help({ where: { a: { deep: 'x' }, b: { deep: 'y' }, c: 1 }, n: 'many' }, schema).split('\n')
  const places = lines.map(line => line.slice(2, line.indexOf(':')))
  assert.deepEqual(places.toSorted(), ['n', 'to', 'where'])
})

test('of very many unknown names, only the first are compared with a missing one', () => {
  const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`n${'x'.repeat(30)}${at}`, 1]))
  const schema = {
    properties: { first: {}, second: {}, third: {} },
    required: [1, 2, 3].map(at => `n${'y'.repeat(50)}${at}`),
  }
  const problems = createSchemaChecks().problems(schema, many) ?? []
  const begun = cpuMs()
  assert.match(argumentHelp(schema, many, problems, BUDGET), /is missing/)
  assert.ok(cpuMs() - begun < 1_000, `${cpuMs() - begun} ms`)
})

test('if the alternatives are single values, the nearest value is shown', () => {
  const schema = {
    properties: { state: { anyOf: [{ const: 'open' }, { enum: ['closed'] }, { type: 'null' }] } },
  }
  assert.match(
    help({ state: 'opne' }, schema),
    /fits none of the alternatives; the nearest is "open"; schema/,
  )
  assert.match(help({ state: 'clsed' }, schema), /the nearest is "closed"/)
})

test('at most three problems are shown, within the tokens, for any schema and arguments', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 150 }, (_, i) => [`field${i}`, { type: 'string', description: 'x '.repeat(5_000) }]),
  )
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  for (const tokens of [1_200, 300, 60]) {
    const text = help({ ['y'.repeat(9_000)]: 1 }, schema, tokens)
    assert.ok(text.split('\n').length <= 3)
    assert.ok(estimateTokens(text) <= tokens, `${estimateTokens(text)} of ${tokens}`)
  }
})

test('a wrong type, a missing argument and a wrong enum value stop a call; bounds and unknown names do not', () => {
  const loose = { name: 'Oslo', count: 0, town: 1 }
  assert.equal(fits(loose), true)
  assert.match(help(loose), /^- town: is unknown.*\n- count: is 0, must be >= 1/)
  for (const wrong of [{}, { name: 5 }, { name: 'Oslo', state: 'x' }, { name: 'Oslo', where: 5 }])
    assert.equal(fits(wrong as JsonObject), false)
})

test('a required argument with a default may be missing', () => {
  const schema = { type: 'object', properties: { n: { type: 'number', default: 1 } }, required: ['n'] }
  assert.equal(fits({}, schema), true)
})

test('schemas of older drafts are understood: tuples, definitions, nullable, and $ref that overrides its siblings', () => {
  const schema: JsonObject = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      pair: {
        type: 'array',
        items: [{ type: 'string' }, { type: 'number' }],
        additionalItems: { type: 'boolean' },
      },
      who: { $ref: '#/definitions/who', type: 'number' },
      note: { type: 'string', nullable: true },
    },
    definitions: { who: { type: 'string' } },
  }
  assert.equal(fits({ pair: ['a', 1, true], who: 'me', note: null }, schema), true)
  for (const wrong of [{ pair: [1] }, { pair: ['a', 1, 'x'] }, { who: 5 }, { note: 5 }])
    assert.equal(fits(wrong as JsonObject, schema), false)
})

test('a schema that contradicts itself stops no call', () => {
  const property = (rule: JsonObject) => ({ type: 'object', properties: { a: rule }, required: ['a'] })
  assert.equal(fits({ a: '1' }, property({ type: 'integer', enum: ['1', '2'] })), true)
  assert.equal(fits({ a: null }, property({ type: ['string', 'null'], enum: ['x'] })), true)
  assert.equal(fits({ a: null }, property({ allOf: [{ type: 'string' }], nullable: true })), true)
  assert.equal(fits({ a: null }, property({ enum: ['x'], nullable: true })), true)
  assert.equal(fits({ a: 5 }, property({ allOf: [{ type: 'string' }], nullable: true })), false)
  assert.equal(fits({ a: 1 }, { type: 'array' }), true)
})

test('inherited names such as constructor count as given only if they are', () => {
  const schema = { properties: { constructor: { type: 'integer' } }, required: ['toString'] }
  assert.equal(fits({ toString: 1 }, schema as never), true)
  assert.equal(fits({}, schema as never), false)
})

test('arguments are not checked if a part of the schema has its own $id', () => {
  const part = { $id: 'urn:part', $ref: '#/$defs/d', $defs: { d: { type: 'integer' } } }
  assert.equal(fits({ a: 5 }, { properties: { a: part }, $defs: { d: { type: 'string' } } }), undefined)
})

test("a server's regular expressions are not run", () => {
  const evil = { type: 'string', pattern: '^(a+)+$', format: 'email' }
  const schema = {
    type: 'object',
    properties: { text: evil, pattern: { type: 'number' } },
    patternProperties: { '^(a+)+$': { type: 'number' } },
    additionalProperties: false,
  }
  const args = { text: `${'a'.repeat(40)}!`, [`${'a'.repeat(40)}!`]: 1, pattern: 1 }
  const begun = cpuMs()
  assert.deepEqual([fits(args, schema), help(args, schema)], [true, ''])
  assert.match(help({ pattern: 'x' }, schema), /^- pattern: /)
  assert.ok(cpuMs() - begun < 5_000)
})

const point = { type: 'object', properties: { a: { $ref: '#/$defs/l0' } } }
const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `l${at}`,
    { allOf: [{ $ref: `#/$defs/l${at + 1}` }, { $ref: `#/$defs/l${at + 1}` }] },
  ]),
)
const HOSTILE: Record<string, JsonObject> = {
  'that refers to another address': { properties: { a: { $ref: 'https://example.com/schema.json' } } },
  'that refers to nothing': { properties: { a: { $ref: '#/$defs/none' } } },
  'that refers to itself': { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } },
  'that doubles at each step': { ...point, $defs: { ...doubling, l40: { type: 'string' } } },
  'with thousands of parts': {
    properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { type: 'string' }])),
  },
  'that is nested a thousand deep': JSON.parse(`${'{"items":'.repeat(1_000)}{}${'}'.repeat(1_000)}`),
}
for (const [name, schema] of Object.entries(HOSTILE))
  test(`a schema ${name} does not delay calls`, () => {
    const begun = cpuMs()
    assert.deepEqual([fits({ a: 'x' }, schema), help({ a: 'x' }, schema)], [undefined, ''])
    assert.ok(cpuMs() - begun < 2_000)
  })

test('alternatives that are not checked, and whose number multiplies at each step, do not delay a refusal', () => {
  // Beside anyOf, oneOf is not checked.
  const choice = (of: string): JsonObject => ({
    anyOf: [{}],
    oneOf: Array(90).fill({ $ref: `#/$defs/${of}` }),
  })
  const schema: JsonObject = {
    properties: { a: { type: 'object', required: ['x'], ...choice('b') } },
    $defs: { b: choice('c'), c: choice('d'), d: choice('e'), e: {} },
  }
  const begun = cpuMs()
  assert.match(help({ a: {} }, schema), /a\.x: is missing/)
  assert.ok(cpuMs() - begun < 1_000)
})

test('unknown types and malformed rules in a schema are ignored', () => {
  for (const rule of [
    { type: 'any' },
    { required: true },
    { enum: 'x' },
    { properties: [] },
    { anyOf: 7 },
    { minimum: 'x' },
  ])
    assert.equal(fits({ a: 1 }, { type: 'object', properties: { a: rule as JsonObject } }), true)
})

test('a long list is not checked against a long enum, which would take too long; a short list is checked', () => {
  const schema = { properties: { a: { items: { enum: Array.from({ length: 5_000 }, (_, i) => `v${i}`) } } } }
  const begun = process.threadCpuUsage()
  assert.equal(fits({ a: Array(50_000).fill('v4999') }, schema), undefined)
  assert.ok(process.threadCpuUsage(begun).user < 1_000_000)
  assert.equal(fits({ a: Array(50).fill('v4999') }, schema), true)
})

test('for very large arguments the first problem is shown', () => {
  const schema = { properties: { a: { items: { type: 'string' } } } }
  assert.match(help({ a: Array(50_000).fill(1) }, schema), /^- a\.0: is 1, must be string/)
})
