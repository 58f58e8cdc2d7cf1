/** Every tool is found by its exact name, nearly every one by a mistyped name, and no query breaks the search. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import { ownCatalog, recordedCatalog } from './catalogs.ts'
import { whereRecorded } from './where-recorded.ts'

/** Share of names of at least 8 letters that are found among the first three in spite of one wrong letter. */
const MISTYPED_FLOOR = 0.98
const RANDOM_QUERIES = 10_000

const catalogs = { "the project's own catalog": ownCatalog, 'the recorded catalogs': recordedCatalog }

for (const [name, load] of Object.entries(catalogs)) {
  test(`every name and path of ${name} is first when it is the query`, context => {
    const documents = whereRecorded(context, load)
    if (!documents) return
    const index = buildIndexAtOnce(documents)
    for (const { server, tool } of documents) {
      assert.equal(first(index, tool)?.tool, tool)
      for (const path of [`${server}:${tool}`, `${server}__${tool}`, `${server} ${tool}`]) {
        const found = first(index, path)
        assert.deepEqual([found?.server, found?.tool], [server, tool], path)
      }
    }
  })

  test(`a name of ${name} with one wrong letter is among the first three`, context => {
    const documents = whereRecorded(context, load)
    if (!documents) return
    const index = buildIndexAtOnce(documents)
    const names = [...new Set(documents.map(document => document.tool))].filter(tool => tool.length >= 8)
    const missed = names.filter((tool, at) => {
      const { hits } = index.search(withTypo(tool, at), { limit: 3 })
      return !hits.some(hit => index.documents[hit.document]?.tool === tool)
    })
    const share = 1 - missed.length / names.length
    context.diagnostic(
      `${(100 * share).toFixed(1)} % of ${names.length}; missed: ${missed.slice(0, 10).join(' ')}`,
    )
    assert.ok(share >= MISTYPED_FLOOR, `only ${share} of the mistyped names were found`)
  })
}

test('no query breaks the search, and equal queries give equal answers', () => {
  const documents = ownCatalog()
  const index = buildIndexAtOnce(documents)
  const word = fc.constantFrom(
    ...documents.flatMap(document => document.tool.split('_')),
    '__proto__',
    'constructor',
    'toString',
    '的',
    'ß',
    '😀',
    '\u0000',
    "l'",
    '€x',
  )
  const query = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.array(fc.oneof(word, fc.string({ maxLength: 12 })), { maxLength: 12 }).map(words => words.join(' ')),
  )
  const check = fc.property(query, text => {
    const answer = index.search(text, { limit: 5 })
    for (const hit of answer.hits) assert.ok(hit.relevance >= 0 && hit.relevance <= 1, `${hit.relevance}`)
    assert.ok(answer.hits.length <= Math.min(5, answer.total))
    assert.deepEqual(index.search(text, { limit: 5 }), answer)
  })
  fc.assert(check, { numRuns: RANDOM_QUERIES, seed: 20_261_122 })
})

test('a query of a million characters is answered from its beginning', () => {
  const index = buildIndexAtOnce(ownCatalog())
  const { hits } = index.search(`translate text ${'list services '.repeat(80_000)}`, { limit: 3 })
  assert.equal(hits.length, 3)
})

function first(index: SearchIndex, query: string): SearchDocument | undefined {
  const hit = index.search(query, { limit: 1 }).hits[0]
  return hit && index.documents[hit.document]
}

/** One letter swapped with the next, left out, doubled or replaced, somewhere after the first. */
function withTypo(name: string, seed: number): string {
  const at = 1 + ((seed * 7) % (name.length - 2))
  const [before, letter, next, after] = [
    name.slice(0, at),
    name.charAt(at),
    name.charAt(at + 1),
    name.slice(at + 2),
  ]
  const typos = [next + letter, next, letter + letter + next, `${letter === 'x' ? 'q' : 'x'}${next}`]
  return before + typos[seed % typos.length] + after
}
