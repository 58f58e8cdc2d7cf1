/** Which mistakes in arguments are corrected, and which never are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../../core/json.ts'
import { checkArguments } from './check-arguments.ts'
import { type Check, correctArguments } from './correct-arguments.ts'
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
    order: { enum: ['newest_first', '-newest_first', '10', '1.0'] },
    state: { anyOf: [{ const: 'open' }, { const: 'closed' }] },
    pageSize: { type: 'integer' },
    filter: { type: 'object', properties: { limit: { type: 'integer' } } },
    either: { anyOf: [{ type: 'integer' }, { type: 'array', items: { type: 'integer' } }] },
  },
  required: ['text'],
}

function correct(args: JsonObject, schema = SCHEMA) {
  const check: Check = {
    fits: given => checks.fits(schema, given),
    problems: given => checks.problems(schema, given),
  }
  return correctArguments(schema, args, check)
}

const CORRECTED: [string, JsonObject, JsonObject][] = [
  ['numbers in texts', { count: '5', ratio: '0.25' }, { count: 5, ratio: 0.25 }],
  ['booleans in texts', { deep: 'True' }, { deep: true }],
  ['numbers and booleans for texts', { text: 5 }, { text: '5' }],
  ['one value for a list', { tags: 'a', ids: 7 }, { tags: ['a'], ids: [7] }],
  ['one value in a text for a list', { ids: '7' }, { ids: [7] }],
  ['lists in texts', { tags: '["a", "b"]', ids: '["1", 2]' }, { tags: ['a', 'b'], ids: [1, 2] }],
  ['objects in texts', { filter: '{"limit": "3"}' }, { filter: { limit: 3 } }],
  ['values of an enum in texts', { level: '2' }, { level: 2 }],
  ['null for an optional argument', { count: null, filter: { limit: null } }, { filter: {} }],
  ['the first alternative that takes it', { either: '5' }, { either: 5 }],
  ['a list for the alternative that is a list', { either: ['5'] }, { either: [5] }],
  ['a list of one value for a single value', { text: ['y'], ratio: ['0.5'] }, { text: 'y', ratio: 0.5 }],
  ['another case and separator in an enum value', { order: 'NEWEST-first' }, { order: 'newest_first' }],
  ['another case of a constant', { state: 'OPEN' }, { state: 'open' }],
]
for (const [name, given, wanted] of CORRECTED)
  test(`corrected, with a note: ${name}`, () => {
    const corrected = correct({ text: 'x', ...given })
    assert.deepEqual(corrected?.args, Object.hasOwn(given, 'text') ? wanted : { text: 'x', ...wanted })
    for (const name of Object.keys(given)) assert.match(corrected?.changes.join('\n') ?? '', new RegExp(name))
  })

const WRAPPED: JsonObject[] = [
  { arguments: { text: 'x', count: 1 } },
  { args: { text: 'x', count: 1 } },
  { input: '{"text":"x","count":1}' },
  { tool_path: 'a:b', arguments: { text: 'x', count: 1 } },
  { params: { arguments: { text: 'x', count: '1' } } },
]
for (const args of WRAPPED)
  test(`arguments are moved out of ${JSON.stringify(args)}`, () => {
    assert.deepEqual(correct(args)?.args, { text: 'x', count: 1 })
  })

test('arguments nested hundreds of thousands of levels deep are not corrected, and do not exhaust the stack', () => {
  const depth = 400_000
  const text = `${'{"args":'.repeat(depth)}{"text":"x"}${'}'.repeat(depth)}`
  const args = JSON.parse(text)
  for (const given of [args, { args: text }, { text: args }, { text: 'x', filter: text }])
    assert.equal(correct(given), undefined)
})

test('an object named input is not unwrapped if the tool has or allows such an argument', () => {
  const own = { type: 'object', properties: { input: { type: 'object' }, text: { type: 'string' } } }
  assert.equal(correct({ input: { text: 'x' } }, own), undefined)
  const open = { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: true }
  assert.equal(correct({ input: { text: 'x' } }, open), undefined)
  assert.equal(correct({ input: { other: 'x' } }, { ...open, additionalProperties: false }), undefined)
})

const LEFT: [string, JsonObject][] = [
  ['a number that would lose digits', { count: '12345678901234567890' }],
  ['a number that was rounded when it was read', { text: 2 ** 60 }],
  ['a fraction for a whole number', { count: '1.5' }],
  ['a text that is not a number', { count: 'many' }],
  ['an empty text for a number', { count: '' }],
  ['arguments of which only one can be corrected', { count: '5', deep: 'perhaps' }],
  ['null for a required argument', { text: null }],
  ['a number that would become 0', { ratio: '1e-400' }],
  ['a list separated by commas', { tags: 'a, b' }],
  ['a list that is not JSON', { tags: "['a']" }],
  ['an empty text for a list', { tags: '' }],
  ['an enum value with another leading sign', { order: '--newest_first' }],
  ['an enum value with another separator between digits', { order: '1-0' }],
  ['a name whose correction would overwrite another argument', { page_size: 1, pageSize: 'x' }],
]
for (const [name, args] of LEFT)
  test(`not corrected: ${name}`, () => assert.equal(correct({ text: 'x', ...args }), undefined))

test('names that differ only in case and separators are corrected, unless the tool allows any name', () => {
  for (const name of ['page_size', 'PageSize', 'page-size']) {
    const corrected = correct({ text: 'x', [name]: '5' })
    assert.deepEqual(corrected?.args, { text: 'x', pageSize: 5 })
    assert.deepEqual(corrected?.changes, [`${name} became pageSize`, 'pageSize: "5" became 5'])
    assert.equal(correct({ text: 'x', [name]: 5 }, { ...SCHEMA, additionalProperties: true }), undefined)
  }
  assert.deepEqual(correct({ text: 'x', page_size: 1, 'page-size': 2 })?.args, {
    text: 'x',
    pageSize: 1,
    'page-size': 2,
  })
})

test('arguments are moved out of a wrapper that names the tool, even if the tool has such an argument', () => {
  const schema = { type: 'object', properties: { name: { type: 'string' } } }
  const check: Check = {
    fits: given => checks.fits(schema, given),
    problems: given => checks.problems(schema, given),
  }
  const wrapped = { name: 'pods:delete', arguments: { name: 'x' } }
  assert.deepEqual(correctArguments(schema, wrapped, check, ['pods:delete'])?.args, { name: 'x' })
  assert.equal(correctArguments(schema, { ...wrapped, name: 'y' }, check, ['pods:delete']), undefined)
})

test('for a tool that takes any name, only a useless wrapper is removed', () => {
  const open = { ...SCHEMA, additionalProperties: true }
  assert.deepEqual(correct({ arguments: { text: 'x' } }, open)?.args, { text: 'x' })
  assert.equal(correct({ text: 'x', arguments: { text: 'y' } }, open), undefined)
})

test('if the schema cannot be checked, nothing is corrected', () => {
  const unknown = { ...SCHEMA, $defs: { x: { $ref: 'https://example.com' } } }
  for (const args of [{ arguments: { text: 'x' } }, { text: 'x', page_size: 5 }])
    assert.equal(correct(args, unknown), undefined)
})

test('the given arguments are not modified', () => {
  const given = { text: 'x', filter: { limit: '3' }, tags: ['a'] }
  const before = structuredClone(given)
  correct(given)
  assert.deepEqual(given, before)
})

test('valid arguments with known names are never changed, and corrected ones are always valid', () => {
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
      const corrected = correct(given)
      if (checks.fits(SCHEMA, given)) assert.equal(corrected, undefined)
      else if (corrected) assert.equal(checks.fits(SCHEMA, corrected.args), true)
    }),
    { numRuns: 500 },
  )
})

test('a misspelt name is refused if other names are forbidden, noted by default, and ignored if they are allowed', () => {
  const check = (additionalProperties?: boolean) => {
    const inputSchema = { ...SCHEMA, additionalProperties }
    return checkArguments(checks, { definition: { name: 't', inputSchema } } as never, {
      value: { text: 'x', cout: 1 },
      text: undefined,
    })
  }
  const refused = check(false)
  assert.equal('problems' in refused && refused.problems[0]?.params.additionalProperty, 'cout')
  const noted = check()
  assert.deepEqual('notes' in noted && noted.notes, [
    'Note: the tool has no argument "cout"; "count" is the nearest that it has.',
  ])
  assert.deepEqual(check(true), {
    args: { value: { text: 'x', cout: 1 }, text: undefined },
    notes: [],
  })
})

test('other unknown names are noted with those that the tool has, unless the schema may allow them', () => {
  const notesFor = (changes: JsonObject, more: JsonObject = {}) => {
    const inputSchema = { ...SCHEMA, ...changes }
    const value = { text: 'x', branch: 'main', ...more }
    const tool = { definition: { name: 't', inputSchema } } as never
    const checked = checkArguments(checks, tool, { value, text: undefined })
    assert.ok('notes' in checked)
    assert.equal(checked.args.value.branch, 'main')
    return checked.notes
  }
  for (const changes of [{}, { additionalProperties: false }] as JsonObject[])
    assert.match(
      notesFor(changes).join(),
      /^Note: the tool's schema has no argument "branch". It has: text, /,
    )
  const open: JsonObject[] = [
    { additionalProperties: true },
    { patternProperties: { '^b': {} } },
    { anyOf: [{ properties: { branch: {} } }, {}] },
  ]
  for (const changes of open) assert.deepEqual(notesFor(changes), [])
  assert.match(notesFor({}, { count: '2' }).join('|'), /were corrected: .*\|Note: .* no argument "branch"/)
})
