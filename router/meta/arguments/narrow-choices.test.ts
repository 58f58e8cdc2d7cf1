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
