/** Which texts have too many values, counted before they are parsed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasManyValues, MAX_VALUES, parseJson } from './parse-json.ts'

/** A list of `count` equal values; the list is a value too. */
function listOf(value: string, count: number): string {
  return `[${`${value},`.repeat(count - 1)}${value}]`
}

test('a text may have as many values as the bound, whatever they are', () => {
  for (const value of ['1', '"a"', '[]', '{}', ' [ ] ']) {
    assert.equal(hasManyValues(listOf(value, MAX_VALUES / 2 - 1)), false, value)
    assert.equal(hasManyValues(listOf(value, MAX_VALUES + 1)), true, value)
  }
  const rows = listOf('{"a":1,"b":[true,null]}', MAX_VALUES / 5)
  assert.equal(hasManyValues(rows), true)
  assert.equal(hasManyValues(listOf('{"a":1,"b":[true,null]}', MAX_VALUES / 7)), false)
  assert.equal(hasManyValues('['.repeat(2 * MAX_VALUES)), true)
})

test('what is written in strings does not count', () => {
  for (const text of ['[,{', '\\",[', '"{', '\\', ',é漢'])
    assert.equal(hasManyValues(JSON.stringify([text.repeat(MAX_VALUES)])), false, text)
  const text = '[[],'.repeat(MAX_VALUES)
  assert.deepEqual(parseJson(JSON.stringify({ text })), { text })
})

test('a text with too many values is refused before it is parsed', () => {
  const refused = { code: 'upstream_too_large', message: /has more than 500000 values: ask for less/ }
  assert.throws(() => parseJson(listOf('[]', 20 * MAX_VALUES)), refused)
  assert.throws(() => parseJson('{'), SyntaxError)
})
