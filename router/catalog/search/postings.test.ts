/** What the ranking reads of a term: its documents, each with its impact. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostings, documentOf, impactOf, type Postings } from './postings.ts'

const postingsOf = (...documents: ReadonlyMap<string, number>[]): Postings => {
  const builder = createPostings(1)
  for (const [document, weights] of documents.entries()) builder.add(document, weights)
  return builder.build()
}

test('a term has its documents, each with the step of impact that its weight stands for', () => {
  const postings = postingsOf(
    new Map([
      ['file', 1],
      ['read', 3],
    ]),
    new Map([['file', 1]]),
    new Map([['file', 9]]),
  )
  assert.deepEqual(
    Array.from(postings.of('file'), posting => [documentOf(posting), impactOf(posting)]),
    [
      [0, 0.5],
      [1, 0.5],
      [2, 0.9],
    ],
  )
  assert.deepEqual(Array.from(postings.of('read'), documentOf), [0])
  assert.deepEqual([postings.count('file'), postings.count('write')], [3, 0])
  assert.deepEqual([...postings.terms()], ['file', 'read'])
})

test('a term is found whole, as it was given, and an unknown one not at all', () => {
  const known = ['pull request', 'Größe', '日本', '__proto__']
  const postings = postingsOf(new Map(known.map(term => [term, 1])))
  for (const term of known) assert.deepEqual(Array.from(postings.of(term), documentOf), [0], term)
  for (const term of ['pull', 'request', 'größe', 'constructor', ''])
    assert.equal(postings.of(term).length, 0, term)
})

test('thousands of terms of one document are all kept', () => {
  const terms = Array.from({ length: 5_000 }, (_, at) => `term${at}`)
  const postings = postingsOf(new Map(terms.map(term => [term, 1])))
  assert.ok(terms.every(term => postings.of(term).length === 1))
})
