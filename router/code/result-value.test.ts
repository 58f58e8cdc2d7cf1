/** Which texts of tools scripts get as values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_VALUES } from '../../core/parse-json.ts'
import { parsedText, toolValue } from './result-value.ts'

test('a text is parsed if it is a JSON object or list, and not if it has too many values', () => {
  assert.deepEqual(parsedText(' {"a":[1]}'), { a: [1] })
  for (const text of ['42', '"a"', '{"half":', `[${'[],'.repeat(MAX_VALUES)}1]`])
    assert.ok(parsedText(text) === text, text.slice(0, 10))
})

test('the texts of one result are parsed while their values together are not too many', () => {
  const half = `[${'[],'.repeat(MAX_VALUES / 5)}1]`
  const content = [half, half, half, '"[,"', '{"a":[1]}'].map(text => ({ type: 'text', text }))
  const value = toolValue({ content: [...content, { type: 'image', data: 'AAAA' }] }, undefined)
  assert.ok(Array.isArray(value))
  const kinds = value.map(one => (Array.isArray(one) ? 'list' : typeof one))
  assert.deepEqual(kinds, ['list', 'list', 'string', 'string', 'object', 'object'])
})
