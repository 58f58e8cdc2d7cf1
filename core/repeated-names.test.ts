/** Names that an object of a JSON text has twice, however they are written. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasRepeatedNames } from './repeated-names.ts'

const has = (text: string) => hasRepeatedNames(text, JSON.parse(text))

test('a name that an object has twice is found at every depth and in every spelling', () => {
  for (const text of [
    '{"path":"/evil","path":"/good"}',
    '{"path":1,"p\\u0061th":1}',
    '{"a":[{"b":{"c":1,"d":2,"c":{}}}]}',
    '{"a":{"x":1},"a":{"x":1}}',
    '{"__proto__":1,"__proto__":2}',
    '[[{"":0, "" : 0}]]',
    '{"0":1,"0":2}',
  ])
    assert.ok(has(text), text)
})

test('names of different objects, and colons in texts, are no repetition', () => {
  for (const text of [
    '{}',
    '"a:b"',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1},[]]}',
    '{"url":"https://a.example:80/\\"x\\":1","a:b":":","A":1,"a":null}',
    '{"__proto__":1,"constructor":{"toString":1}}',
    `{"text":"${'x:\\\\'.repeat(50)}","more" : true}`,
  ])
    assert.ok(!has(text), text)
})

test('deeply nested values and many members take linear time', () => {
  assert.ok(!has(`${'{"a":['.repeat(50_000)}${']}'.repeat(50_000)}`))
  const members = Array.from({ length: 50_000 }, (_, at) => `"n${at}":${at}`)
  assert.ok(!has(`{${members.join()}}`))
  assert.ok(has(`{${members.join()},"n7":0}`))
})
