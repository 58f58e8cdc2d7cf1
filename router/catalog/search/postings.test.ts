/** The postings of a term: FlexSearch builds their lists, which are then packed into one array. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPostings, documentOf, impactOf, type Postings } from './postings.ts'

test('a term has its documents, each with the impact that its weight stands for', () => {
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
      [2, 0.9],
      [0, 0.5],
      [1, 0.5],
    ],
  )
  assert.deepEqual([postings.count('file'), postings.count('write')], [3, 0])
  assert.deepEqual([...postings.terms()], ['file', 'read'])
})

test('only the whole term is found, exactly as it was given', () => {
  const terms = ['pull request', 'Größe', '日本', '__proto__']
  const postings = postingsOf(new Map(), new Map(terms.map(term => [term, 1])))
  for (const term of terms) assert.deepEqual(Array.from(postings.of(term), documentOf), [1], term)
  for (const term of ['pull', 'request', 'größe', 'constructor', ''])
    assert.equal(postings.of(term).length, 0, term)
})

test('all of the thousands of terms of one document are kept', () => {
  const terms = Array.from({ length: 5_000 }, (_, at) => `term${at}`)
  const postings = postingsOf(new Map(terms.map(term => [term, 1])))
  assert.ok(terms.every(term => postings.of(term).length === 1))
})

function postingsOf(...documents: ReadonlyMap<string, number>[]): Postings {
  const builder = createPostings(1)
  for (const [document, weights] of documents.entries()) builder.add(document, weights)
  const steps = builder.build()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
