/** Argument help on real schemas: all can be checked, what fits is passed on as it is, what does not is explained in few words. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { isObject, type JsonObject } from '../../core/json.ts'
import { requiredNames } from '../../router/meta/arguments/relax.ts'
import { sampleArguments } from '../support/sample-arguments.ts'
import { defaultCatalogs } from '../upstreams/replay/catalogs.ts'
import { createFixture, type FixtureServer } from './fixture.ts'

const RESPONSE_TOKENS = 1_200

const catalogs = defaultCatalogs()
const servers: Record<string, FixtureServer> = Object.fromEntries(
  catalogs.map(({ name, tools }) => [name, { offers: { tools } }]),
)
const tools = catalogs.flatMap(({ name, tools }) =>
  tools.map(tool => ({ path: `${name}:${tool.name}`, schema: tool.inputSchema })),
)

test('what fits the schema of a tool reaches it as it is', async () => {
  const fixture = createFixture(servers)
  for (const { path, schema } of tools) {
    const args = sampleArguments(schema)
    const { content } = await fixture.call('execute_mcp_tool', { tool_path: path, arguments: args })
    assert.equal(content.length, 1, `${path}: ${content.map(({ text }) => text).join('\n')}`)
    assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, args, path)
  }
  assert.equal(fixture.sent.length, tools.length)
})

test('what is missing is named, with its schema, in an answer within the budget; nothing is called', async () => {
  const fixture = createFixture(servers)
  const asking = tools.filter(({ schema }) => requiredNames(schema).some(name => isKnown(schema, name)))
  assert.ok(asking.length > tools.length / 3)
  for (const { path, schema } of asking) {
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
