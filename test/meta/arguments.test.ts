/** Checks of arguments on real schemas: valid arguments are passed on unchanged, and errors are short. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { isObject, type JsonObject } from '../../core/json.ts'
import { checkArguments } from '../../router/meta/arguments/check-arguments.ts'
import { requiredNames } from '../../router/meta/arguments/relax.ts'
import { createSchemaChecks } from '../../router/meta/arguments/schema-checks.ts'
import { randomArguments } from '../support/random-arguments.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type FixtureServer } from './fixture.ts'

const RESPONSE_TOKENS = 1_200
/** One of this many tools is tried, each with `RUNS` random arguments. */
const EVERY = 5
const RUNS = 20

const catalogs = defaultCatalogs()
const servers: Record<string, FixtureServer> = Object.fromEntries(
  catalogs.map(({ name, tools }) => [name, { offers: { tools } }]),
)
const tools = catalogs.flatMap(({ name, tools }) =>
  tools.map(tool => ({ path: `${name}:${tool.name}`, tool, schema: tool.inputSchema })),
)

test('valid arguments reach the tool unchanged', async () => {
  const fixture = createFixture(servers)
  for (const { path, schema } of tools) {
    const args = sampleArguments(schema)
    const { content } = await fixture.call('execute_mcp_tool', { tool_path: path, arguments: args })
    assert.equal(content.length, 1, `${path}: ${content.map(({ text }) => text).join('\n')}`)
    assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, args, path)
  }
  assert.equal(fixture.sent.length, tools.length)
})

test('arguments that a schema allows are neither refused nor changed, and get a note only about names that it does not have', () => {
  const checks = createSchemaChecks()
  let tried = 0
  for (const { path, tool } of tools.filter((_, at) => at % EVERY === 0)) {
    const allows = referenceCheck(tool.inputSchema)
    const property = fc.property(randomArguments(tool.inputSchema), args => {
      if (!allows(args)) return
      tried++
      const before = structuredClone(args)
      const checked = checkArguments(checks, { definition: tool, path } as never, {
        value: args,
        text: undefined,
      })
      assert.ok('notes' in checked, path)
      assert.deepEqual(checked.args, { value: before, text: undefined }, path)
      const isUnknown = (name: string) => !isKnown(tool.inputSchema, name)
      for (const note of checked.notes) assert.match(note, /no argument "zzz_unknown"/, path)
      if (!Object.keys(args).some(isUnknown)) assert.deepEqual(checked.notes, [], path)
    })
    fc.assert(property, { numRuns: RUNS })
  }
  assert.ok(tried > 0.9 * RUNS * Math.floor(tools.length / EVERY))
})

/** Validates by the whole schema, with its bounds, and by the draft that it names. */
function referenceCheck(schema: JsonObject): ValidateFunction {
  const options = { strict: false, logger: false, validateFormats: false } as const
  const ajv = String(schema.$schema).includes('draft-07') ? new Ajv(options) : new Ajv2020(options)
  return ajv.compile(schema)
}

test('the error for missing arguments names the first one, within the budget, and nothing is called', async () => {
  const fixture = createFixture(servers)
  const requiring = tools.filter(({ schema }) => requiredNames(schema).some(name => isKnown(schema, name)))
  assert.ok(requiring.length > tools.length / 3)
  for (const { path, schema } of requiring) {
    const { content, isError } = await fixture.call('execute_mcp_tool', { tool_path: path, arguments: {} })
    const text = content[0]?.text ?? ''
    assert.equal(isError, true)
    assert.ok(text.includes(`\n- ${requiredNames(schema)[0]}: is missing`), text)
    assert.ok(encode(text).length <= RESPONSE_TOKENS, path)
  }
  assert.deepEqual(fixture.sent, [])
})

function isKnown({ properties }: JsonObject, name: string): boolean {
  return isObject(properties) && Object.hasOwn(properties, name)
}
