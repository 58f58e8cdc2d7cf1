/** Whole numbers with more digits than a double has: they reach the tool as they were written, or the call is refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../core/json.ts'
import { createFixture, type Fixture, type FixtureServer } from './fixture.ts'

const ID = '1234567890123456789'
const SERVERS: Record<string, FixtureServer> = {
  shop: {
    offers: {
      tools: [
        {
          name: 'act',
          inputSchema: {
            type: 'object',
            properties: {
              id: { type: 'integer' },
              force: { type: 'boolean' },
              page_size: { type: 'integer' },
              filter: { type: 'object' },
            },
          },
        },
      ],
    },
  },
}

/** Calls execute_mcp_tool with arguments that are given as the caller wrote them. */
async function execute(fixture: Fixture, written: string) {
  const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute_mcp_tool","arguments":${written}}}`
  return fixture.call('execute_mcp_tool', JSON.parse(written), { text })
}

const call = (args: string, beside = '') => `{"tool_path":"shop:act","arguments":${args}${beside}}`
const asText = (json: string) => JSON.stringify(json)

test('arguments that were sent as JSON text keep all digits', async () => {
  const fixture = createFixture(SERVERS)
  const args = `{"id":${ID}}`
  const whole = call(args)
  for (const written of [
    whole,
    call(asText(args)),
    call(asText(asText(args))),
    `{"arguments":${whole}}`,
    `{"arguments":${asText(whole)}}`,
    `{"arguments":${asText(call(asText(args)))}}`,
  ]) {
    const { isError } = await execute(fixture, written)
    assert.equal(isError, undefined, written)
    assert.equal(fixture.sent.at(-1)?.call.argumentsText, args, written)
  }
})

test('arguments that have to be corrected or joined are refused if a number would lose digits', async () => {
  const fixture = createFixture(SERVERS)
  const given: [string, string, RegExp][] = [
    [call(`{"id":${ID},"force":"true"}`), 'id', /Correct them yourself: force: "true" became true\.$/],
    [call(`{"id":${ID},"pageSize":5}`), 'id', /Correct them yourself: pageSize became page_size\.$/],
    [call(`{"arguments":{"id":${ID}}}`), 'id', /Correct them yourself: took the arguments out/],
    [call(asText(`{"id":${ID},"force":"true"}`)), 'id', /Correct them yourself: force/],
    [call(`{"filter":${asText(`{"ids":[1,-${ID}]}`)}}`), 'filter.ids.1', /Correct them yourself: filter/],
    [`{"tool_path":"shop:act","id":${ID}}`, 'id', /in one object/],
    [call('{"force":true}', `,"id":${ID}`), 'id', /in one object/],
  ]
  for (const [written, argument, advice] of given) {
    const { content, isError } = await execute(fixture, written)
    const [{ text } = { text: '' }] = content
    assert.equal(isError, true, written)
    assert.ok(text.startsWith(`Argument "${argument}" is a whole number beyond 9007199254740991, `), text)
    assert.match(text, advice)
  }
  assert.deepEqual(fixture.sent, [])
  const { isError } = await execute(fixture, call('{"id":9007199254740991,"force":"true"}'))
  assert.equal(isError, undefined)
})

test('numbers that lose no digits are sent, whatever is corrected or joined', async () => {
  const fixture = createFixture(SERVERS)
  const given: [string, JsonObject][] = [
    [call('{"id":1700000000000000000,"force":"true"}'), { id: 1.7e18, force: true }],
    [call('{"id":6e23,"force":"true"}'), { id: 6e23, force: true }],
    [call('{"id":1000000000000000000000000,"force":"true"}'), { id: 1e24, force: true }],
    [call('{"id":"1e18"}'), { id: 1e18 }],
    [call('{"id":1700000000000000000}', ',"Force":"true"'), { id: 1.7e18, force: true }],
    [call(`{"filter":${asText('{"ids":[1700000000000000000]}')}}`), { filter: { ids: [1.7e18] } }],
  ]
  for (const [written, sent] of given) {
    const { isError, content } = await execute(fixture, written)
    assert.equal(isError, undefined, `${written}: ${content[0]?.text}`)
    assert.deepEqual(fixture.sent.at(-1)?.call.params?.arguments, sent, written)
  }
})

test('a request of a batch, whose text is not known, is refused only if a large number has to be corrected or joined', async () => {
  const fixture = createFixture(SERVERS)
  const batch = (args: JsonObject) => fixture.call('execute_mcp_tool', { tool_path: 'shop:act', ...args })
  for (const args of [{ id: 2 ** 60 }, { id: 6.02e23, force: true }, { id: '1e20' }]) {
    const { isError, content } = await batch({ arguments: args })
    assert.equal(isError, undefined, content[0]?.text)
  }
  assert.equal((await batch({ arguments: { id: 2 ** 60, force: 'true' } })).isError, true)
  assert.equal((await batch({ arguments: { id: 2 ** 60 }, force: true })).isError, true)
})
