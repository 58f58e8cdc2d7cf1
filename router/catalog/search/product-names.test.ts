/** Tests of which words are taken for names of products. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProductName } from './product-names.ts'
import { stem } from './text.ts'

test('well-known products and words of no language are names', () => {
  for (const word of ['slack', 'github', 'jira', 'twinsluice', 'korvship'])
    assert.ok(isProductName(stem(word)), word)
})

test('words of English, typing errors of them, numbers and words of other alphabets are not', () => {
  for (const word of ['message', 'tidal', 'retrun', 'relase', 's3', 'ab', 'срок', 'größe'])
    assert.ok(!isProductName(stem(word)), word)
})
