/** What an agent reads about a wrong value of a choice whose alternatives have fixed values, such as a type. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../core/json.ts'
import { cpuMs } from '../../../test/support/cpu-time.ts'
import { argumentHelp } from './argument-help.ts'
import { createSchemaChecks } from './schema-checks.ts'

const path: JsonObject = {
  type: 'object',
  properties: {
    type: { type: 'string', const: 'path' },
    encodedPolyline: { type: 'string' },
    width: { $ref: '#/$defs/width' },
  },
  required: ['type', 'encodedPolyline'],
  additionalProperties: false,
}
const marker: JsonObject = {
  type: 'object',
  properties: { type: { const: 'marker' }, lon: { type: 'number' }, width: { type: 'string' } },
  required: ['type', 'lon'],
  additionalProperties: false,
}
const geo: JsonObject = {
  type: 'object',
  properties: { type: { enum: ['geojson'] }, data: { type: 'object' } },
}
const $defs = { path, width: { type: 'number' }, marker }

function linesOf(overlay: JsonObject, choice: JsonObject): string[] {
  const schema = { type: 'object', properties: { overlays: { type: 'array', items: choice } }, $defs }
  const args = { overlays: [overlay] }
  const problems = createSchemaChecks().problems(schema, args) ?? []
  return argumentHelp(schema, args, problems, 1_200).split('\n')
}

const PAIRS: [string, JsonObject, JsonObject][] = [
  ['in place', marker, path],
  ['by reference', { $ref: '#/$defs/marker' }, { $ref: '#/$defs/path' }],
  ['within allOf', { allOf: [marker] }, { allOf: [path] }],
]
for (const [how, first, second] of PAIRS)
  for (const key of ['oneOf', 'anyOf'])
    test(`only problems of the alternative with the given type are shown: ${key}, ${how}`, () => {
      const choice = { [key]: [first, second, geo, { type: 'null' }] }
      assert.deepEqual(linesOf({ type: 'path' }, choice), [
        '- overlays.0.encodedPolyline: is missing; schema there: {"type":"string"}',
      ])
      const wrong = linesOf({ type: 'path', encodedPolyline: 'x', width: 'w' }, choice)
      assert.match(wrong.join(), /^- overlays\.0\.width: is "w", must be number/)
      assert.equal(wrong.length, 1)
      assert.deepEqual(linesOf({ type: 'ploy' }, choice), [
        '- overlays.0.type: is "ploy", none of the allowed values; schema there: {"enum":["marker","path","geojson"]}',
      ])
    })

test('many allowed values are shown in part, with the nearest', () => {
  const anyOf = Array.from({ length: 150 }, (_, at) => ({ properties: { type: { const: `kind-${at}` } } }))
  const [line = '', ...others] = linesOf({ type: 'kind-1499' }, { anyOf })
  assert.match(
    line,
    /none of the allowed values; the nearest is "kind-149"; schema there: \{"enum":\["kind-0"/,
  )
  assert.ok(line.length < 600, line)
  assert.deepEqual(others, [])
})

test('if several alternatives have the type, the choice is shown without problems of others', () => {
  const other = { properties: { type: { const: 'path' }, points: { type: 'array' } }, required: ['points'] }
  const lines = linesOf({ type: 'path', width: {} }, { anyOf: [marker, path, other] })
  const places = lines.map(line => line.slice(2, line.indexOf(':')))
  assert.deepEqual(places, ['overlays.0', 'overlays.0.width'])
})

const base: JsonObject = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
const shape = (kind: string, properties: JsonObject, rest: JsonObject = {}): JsonObject => ({
  ...{ type: 'object', properties: { kind: { const: kind }, ...properties } },
  ...{ required: ['kind', ...Object.keys(properties)], ...rest },
})
const circle = shape('circle', { r: { type: 'number' } })
const square = shape('square', { side: { type: 'number' } })
const text = shape('text', { t: { type: 'string' } })
const named = { type: 'object', required: ['name'], properties: { name: {}, count: { type: 'integer' } } }

/** What is wrong with `s`, each without the part of the schema. */
function wrongIn(s: JsonObject, choice: JsonObject): string[] {
  const colour = { enum: ['red', 'blue'] }
  const $defs = { base, colour, shapes: { oneOf: [circle, square] } }
  const schema = { type: 'object', properties: { s: choice }, $defs }
  const problems = createSchemaChecks().problems(schema, { s }) ?? []
  return argumentHelp(schema, { s }, problems, 1_200)
    .split('\n')
    .map(line => line.slice(2).replace(/; (schema there|you gave).*/, ''))
}

const NESTED: JsonObject[][] = [
  [{ anyOf: [circle, square] }, text],
  [{ oneOf: [circle, square] }, text],
  [{ $ref: '#/$defs/shapes' }, text],
  [text, { $ref: '#/$defs/shapes' }],
]
for (const anyOf of NESTED)
  test(`a choice within a choice does not reject what the outer one allows: ${JSON.stringify(anyOf)}`, () => {
    const [first = '', ...others] = wrongIn({ kind: 'text', t: 5 }, { anyOf })
    assert.match(first, /^s: is .* fits none of the alternatives/)
    assert.ok(others.includes('s.t: is 5, must be string'), others.join())
    assert.doesNotMatch(others.join(), /none of the allowed values/)
  })

test('a choice in an alternative of an unclear choice lists no values of this alternative only', () => {
  const outer = [{ anyOf: [circle, square] }, text].map(content => ({ properties: { content } }))
  const lines = wrongIn({ content: { kind: 'text', t: 5 } }, { anyOf: outer })
  assert.doesNotMatch(lines.join(), /none of the allowed values/)
})

test('an alternative that allows several values by a choice of its own is not rejected', () => {
  const both = { anyOf: [circle, square], required: ['z'] }
  const lines = wrongIn({ kind: 'square', side: 1 }, { anyOf: [both, text] })
  assert.doesNotMatch(lines.join(), /none of the allowed values/)
})

const KEPT: [string, JsonObject, JsonObject, string[]][] = [
  [
    'a name that a base of the alternative requires',
    { kind: 'a', w: 'x' },
    { oneOf: [shape('a', { w: { type: 'number' } }, { allOf: [{ $ref: '#/$defs/base' }] }), text] },
    ['s.id: is missing', 's.w: is "x", must be number'],
  ],
  [
    'a value that a reference within allOf does not allow',
    { kind: 'a', w: 'x', c: 'green' },
    { oneOf: [shape('a', { w: { type: 'number' }, c: { allOf: [{ $ref: '#/$defs/colour' }] } }), text] },
    ['s.c: is "green", none of the allowed values', 's.w: is "x", must be number'],
  ],
  [
    'a name that is required beside the choice',
    { kind: 'circle' },
    { ...named, anyOf: [circle, square] },
    ['s.name: is missing', 's.r: is missing'],
  ],
  [
    'a wrong value beside the choice, if no alternative is meant',
    { kind: 'hexagon', count: 'many', name: 'n' },
    { ...named, anyOf: [circle, square] },
    ['s.count: is "many", must be integer', 's.kind: is "hexagon", none of the allowed values'],
  ],
  [
    'what is wrong within the meant alternative, if another value fits none',
    { kind: 'circle', v: 3 },
    { anyOf: [circle, square].map(one => ({ properties: { v: { const: 1 } }, allOf: [one] })) },
    ['s.r: is missing', 's.v: is 3, must be 1'],
  ],
  [
    'a value of an alternative that an object tells apart',
    { kind: ['a'], w: 'x' },
    { anyOf: [['a'], ['b']].map(kind => ({ properties: { kind: { const: kind }, w: { type: 'number' } } })) },
    [
      's.kind: is ["a"], must be ["b"]',
      's.w: is "x", must be number',
      's: is {"kind":["a"],"w":"x"}, which fits none of the alternatives',
    ],
  ],
]
for (const [what, value, choice, expected] of KEPT)
  test(`narrowing a choice keeps ${what}`, () =>
    assert.deepEqual(wrongIn(value, choice).toSorted(), expected))

test('very many unknown names in each of many alternatives do not delay a refusal', () => {
  const anyOf = Array.from({ length: 100 }, (_, at) => ({
    ...path,
    required: [`missing_${at}`],
    properties: { type: { const: 'path' } },
  }))
  const overlay = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`name_${at}`, at]))
  const schema = { type: 'object', properties: { overlays: { type: 'array', items: { anyOf } } } }
  const args = { overlays: [{ ...overlay, type: 'path' }] }
  const problems = createSchemaChecks().problems(schema, args) ?? []
  assert.ok(problems.length > 1_000)
  const begun = cpuMs()
  assert.match(argumentHelp(schema, args, problems, 1_200), /fits none of the alternatives/)
  assert.ok(cpuMs() - begun < 1_000, `${cpuMs() - begun} ms`)
})
