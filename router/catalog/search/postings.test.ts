/** What FlexSearch keeps for us: the lists of each step, which the ranking reads. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostings, impactOf } from './postings.ts'

test('a term has its documents in the list of the step that their weight stands for', () => {
  const postings = createPostings(1)
  postings.add(
    0,
    new Map([
      ['file', 1],
      ['read', 3],
    ]),
  )
  postings.add(1, new Map([['file', 1]]))
  postings.add(2, new Map([['file', 9]]))
  const found = postings
    .of('file')
    .flatMap((documents, step) => (documents ?? []).map(document => [document, step]))
  assert.deepEqual(
    found.map(([document, step = 0]) => [document, impactOf(step)]),
    [
      [2, 0.9],
      [0, 0.5],
      [1, 0.5],
    ],
  )
  assert.equal(postings.count('file'), 3)
  assert.deepEqual([...postings.terms()], ['file', 'read'])
})

test('a term is found whole, as it was given, and an unknown one not at all', () => {
  const postings = createPostings(1)
  postings.add(7, new Map(['pull request', 'Größe', '日本', '__proto__'].map(term => [term, 1])))
  for (const term of ['pull request', 'Größe', '日本', '__proto__'])
    assert.deepEqual(postings.of(term).flat(), [7], term)
  for (const term of ['pull', 'request', 'größe', 'constructor', ''])
    assert.deepEqual(postings.of(term).flat(), [])
})

test('thousands of terms of one document are all kept', () => {
  const postings = createPostings(1)
  const terms = Array.from({ length: 5_000 }, (_, at) => `term${at}`)
  postings.add(0, new Map(terms.map(term => [term, 1])))
  assert.ok(terms.every(term => postings.of(term).flat().length === 1))
})
