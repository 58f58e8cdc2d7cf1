/** What an agent reads of the value that its script returned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_VALUES } from '../../core/parse-json.ts'
import { largeText, textOfValue } from './answer-text.ts'

const BUDGET = 1_000

test('the text of a string has no quotes; other values are shown as the JSON that they are, unparsed', () => {
  assert.equal(textOfValue('"a \\"b\\" [1]"'), 'a "b" [1]')
  for (const json of ['[1]', '{"a":"b"}', '42', 'null', '[not JSON']) assert.equal(textOfValue(json), json)
  assert.equal(textOfValue(undefined), 'undefined')
})

test('a large value is described by its shape, unless it has so many values that parsing it would take long', () => {
  const listOf = (count: number) => `[${Array(count).fill('{}').join()}]`
  const shown = (json: string) => largeText(json, textOfValue(json), BUDGET, undefined).split(';', 1)[0]
  assert.equal(shown(listOf(10_000)), '{}[]')
  const many = listOf(MAX_VALUES)
  assert.equal(shown(many), `A value of ${many.length} characters`)
  assert.equal(shown(JSON.stringify('[,'.repeat(MAX_VALUES))), `A text of ${2 * MAX_VALUES} characters`)
})
