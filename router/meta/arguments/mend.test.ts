/** What is mended in arguments and what never is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { checkArguments } from './check-arguments.ts'
import { type Check, mendArguments } from './mend.ts'
import { createSchemaChecks } from './schema-checks.ts'

const checks = createSchemaChecks()
const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    ids: { type: 'array', items: { type: 'integer' } },
    level: { enum: [1, 2, 3] },
    filter: { type: 'object', properties: { limit: { type: 'integer' } } },
    either: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] },
  },
  required: ['text'],
}

function mend(args: JsonObject, schema = SCHEMA) {
  const check: Check = {
    fits: given => checks.fits(schema, given),
    problems: given => checks.problems(schema, given),
  }
  return mendArguments(schema, args, check)
}

const MENDED: [string, JsonObject, JsonObject][] = [
  ['numbers in texts', { count: '5', ratio: '0.25' }, { count: 5, ratio: 0.25 }],
  ['booleans in texts', { deep: 'True' }, { deep: true }],
  ['numbers and booleans for texts', { text: 5 }, { text: '5' }],
  ['one value for a list', { tags: 'a', ids: 7 }, { tags: ['a'], ids: [7] }],
  ['one value in a text for a list', { ids: '7' }, { ids: [7] }],
  ['lists in texts', { tags: '["a", "b"]', ids: '["1", 2]' }, { tags: ['a', 'b'], ids: [1, 2] }],
  ['objects in texts', { filter: '{"limit": "3"}' }, { filter: { limit: 3 } }],
  ['values of an enum in texts', { level: '2' }, { level: 2 }],
  ['null for nothing', { count: null, filter: { limit: null } }, { filter: {} }],
  ['the first alternative that takes it', { either: '5' }, { either: 5 }],
]
for (const [name, given, wanted] of MENDED)
  test(`${name} are mended, and said`, () => {
    const mended = mend({ text: 'x', ...given })
    assert.deepEqual(mended?.args, Object.hasOwn(given, 'text') ? wanted : { text: 'x', ...wanted })
    for (const name of Object.keys(given)) assert.match(mended?.changes.join('\n') ?? '', new RegExp(name))
  })

const WRAPPED: JsonObject[] = [
  { arguments: { text: 'x', count: 1 } },
  { args: { text: 'x', count: 1 } },
  { input: '{"text":"x","count":1}' },
  { tool_path: 'a:b', arguments: { text: 'x', count: 1 } },
  { params: { arguments: { text: 'x', count: '1' } } },
]
for (const args of WRAPPED)
  test(`arguments are taken out of ${JSON.stringify(args)}`, () => {
    assert.deepEqual(mend(args)?.args, { text: 'x', count: 1 })
  })

test('an object that the tool itself calls so, or may, is left alone', () => {
  const own = { type: 'object', properties: { input: { type: 'object' }, text: { type: 'string' } } }
  assert.equal(mend({ input: { text: 'x' } }, own), undefined)
  const open = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: true }
  assert.equal(mend({ input: { text: 'x' } }, open), undefined)
  assert.equal(mend({ input: { other: 'x' } }, { ...open, additionalProperties: false }), undefined)
})

const LEFT: [string, JsonObject][] = [
  ['a number that would lose digits', { count: '12345678901234567890' }],
  ['a number that was rounded when it was read', { text: 2 ** 60 }],
  ['a fraction for a whole number', { count: '1.5' }],
  ['a text that is no number', { count: 'many' }],
  ['empty texts', { count: '' }],
  ['one slip of two', { count: '5', deep: 'perhaps' }],
  ['null for what is needed', { text: null }],
]
for (const [name, args] of LEFT)
  test(`${name} is not mended`, () => assert.equal(mend({ text: 'x', ...args }), undefined))

test('what is given is never changed in place', () => {
  const given = { text: 'x', filter: { limit: '3' }, tags: ['a'] }
  const before = structuredClone(given)
  mend(given)
  assert.deepEqual(given, before)
})

test('arguments of known names that fit are never changed, and mended ones always fit', () => {
  const scalar = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
  )
  const number = fc.oneof(fc.integer(), fc.integer().map(String))
  const value = fc.oneof(scalar, number, fc.constant(null), fc.array(scalar, { maxLength: 3 }), fc.json())
  const names = Object.keys(SCHEMA.properties as JsonObject)
  const args = fc.dictionary(fc.constantFrom(...names), value as fc.Arbitrary<JsonValue>)
  fc.assert(
    fc.property(args, given => {
      const mended = mend(given)
      if (checks.fits(SCHEMA, given)) assert.equal(mended, undefined)
      else if (mended) assert.equal(checks.fits(SCHEMA, mended.args), true)
    }),
    { numRuns: 500 },
  )
})

test('a name that is nearly one of the tool is refused where no others are allowed, and noted elsewhere', () => {
  const check = (additionalProperties?: boolean) => {
    const inputSchema = { ...SCHEMA, additionalProperties }
    return checkArguments(checks, { definition: { name: 't', inputSchema } } as never, { text: 'x', cout: 1 })
  }
  const refused = check(false)
  assert.equal('problems' in refused && refused.problems[0]?.params.additionalProperty, 'cout')
  const noted = check()
  assert.deepEqual('notes' in noted && noted.notes, [
    'Note: the tool has no argument "cout"; "count" is the nearest that it has.',
  ])
  assert.deepEqual(check(true), { args: { text: 'x', cout: 1 }, notes: [] })
})
