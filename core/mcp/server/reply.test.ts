/** Answers as text: the upstream's text is unchanged, and the fields of an era are added in front. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../json.ts'
import { errorText, legacyResultText, modernResultText } from './reply.ts'

const SERVER = { name: 'portolan', version: '1' }
const NAMED = { 'io.modelcontextprotocol/serverInfo': SERVER }

function modern(method: string, result: JsonObject, resultText?: string): JsonObject {
  return JSON.parse(modernResultText(1, method, { result, resultText }, SERVER)).result
}

test('a result of the older era is passed on as the upstream wrote it', () => {
  const resultText = '{ "content" : [ ] }'
  const text = legacyResultText('é"', { result: { content: [] }, resultText })
  assert.equal(text, '{"jsonrpc":"2.0","id":"é\\"","result":{ "content" : [ ] }}')
})

test('fields of the newer era are removed for the older one, and the rest is unchanged', () => {
  const legacy = (resultText: string, result: JsonObject = JSON.parse(resultText)) =>
    legacyResultText(1, { result, resultText }).slice('{"jsonrpc":"2.0","id":1,"result":'.length, -1)
  const named = '"io.modelcontextprotocol/serverInfo":{"name":"a"}'
  const nested = '{"resultType":"complete","exact":9007199254740993}'
  assert.equal(legacy(`{"resultType":"complete","content":[${nested}]}`), `{"content":[${nested}]}`)
  assert.equal(legacy(`{"content":[],"_meta":{${named}}}`), '{"content":[]}')
  assert.equal(
    legacy(`{"_meta":{${named},"a/b":[1.50]},"content":[]}`),
    '{"content":[],"_meta":{"a/b":[1.50]}}',
  )
  const read = '{"contents":[],"ttlMs":5,"cacheScope":"private","resultType":"complete"}'
  assert.equal(legacy(read), '{"contents":[]}')
  assert.equal(legacy('{"contents":[],"ttlMs":5}'), '{"contents":[],"ttlMs":5}')
  assert.equal(
    legacyResultText(1, { result: JSON.parse(read) }),
    '{"jsonrpc":"2.0","id":1,"result":{"contents":[]}}',
  )
})

test("a result of the newer era has resultType, the server's name, and cache terms if it is cacheable", () => {
  assert.deepEqual(modern('tools/call', { content: [] }), {
    resultType: 'complete',
    _meta: NAMED,
    content: [],
  })
  const list = modern('resources/list', { resources: [] })
  assert.deepEqual([list.ttlMs, list.cacheScope, list.resultType], [0, 'private', 'complete'])
})

test('fields that a handler or an upstream has set are kept', () => {
  const given = { resultType: 'input_required', ttlMs: 5, cacheScope: 'public', requestState: 's' }
  assert.deepEqual(modern('resources/read', given), { ...given, _meta: NAMED })
  const theirs = { 'io.modelcontextprotocol/serverInfo': { name: 'upstream', version: '9' } }
  assert.deepEqual(modern('tools/call', { resultType: 'complete', _meta: theirs }), {
    resultType: 'complete',
    _meta: theirs,
  })
  const kept = modern('tools/call', { _meta: { 'acme/x': 1 } }, '{"_meta":{"acme/x":1}}')
  assert.deepEqual(kept, { resultType: 'complete', _meta: { 'acme/x': 1, ...NAMED } })
})

test('inserting fields into the text gives the same JSON as setting them on the value', () => {
  const result = fc
    .dictionary(fc.string(), fc.jsonValue())
    .filter(one => !('_meta' in one) && !('resultType' in one))
  fc.assert(
    fc.property(result, fc.constantFrom('', ' ', '\n  '), (value, space) => {
      const object = JSON.parse(JSON.stringify(value)) as JsonObject
      const text = `${space}${JSON.stringify(object, null, space.length)}${space}`
      assert.deepEqual(modern('tools/call', object, text), {
        ...object,
        resultType: 'complete',
        _meta: NAMED,
      })
    }),
    { seed: 20260728 },
  )
})

test('an error is written with its id or null', () => {
  assert.equal(
    errorText(null, { code: -32700, message: 'x' }),
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
  )
})
