/** Tests of which words stand where a query names a product. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { productPlaces } from './product-places.ts'
import { stem, wordsOf } from './text.ts'

const placed = (query: string) => [...productPlaces(query, wordsOf(query), stem).placed]

test('the first word, the last of a few and those after prepositions stand where products are named', () => {
  assert.deepEqual(placed('slack send message'), ['slack', 'messag'])
  assert.deepEqual(placed('send message slack'), ['send', 'slack'])
  assert.deepEqual(placed('please open a new ticket about the printer in jira for me'), ['jira'])
  assert.deepEqual(placed('slack'), [])
})

test('words with a capital may be names wherever they stand', () => {
  const query = 'show the open Korvship parcels of Anna'
  assert.deepEqual([...productPlaces(query, wordsOf(query), stem).capital], ['korvship', 'anna'])
})
