/** Every tool is found by its name, even if mistyped; filters apply before the ranking; no query makes the search fail. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { quantize, type Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import { ownCatalog, ownQueries, recordedCatalog } from './catalogs.ts'
import { whereRecorded } from './where-recorded.ts'

const DIMENSIONS = 16
const RANDOM_QUERIES = 10_000

const catalogs = { "the project's own catalog": ownCatalog, 'the recorded catalogs': recordedCatalog }

for (const [name, load] of Object.entries(catalogs)) {
  test(`a query that is a name or path of ${name} finds that tool first, whatever the vectors are`, context => {
    const documents = whereRecorded(context, load)
    if (!documents) return
    const index = buildIndexAtOnce(documents)
    assertNamesFirst(index)
    assertNamesFirst(withRandomMeaning(index))
  })

  test(`a query that is a name of ${name} with one typing error finds that tool among the first three`, context => {
    const documents = whereRecorded(context, load)
    if (!documents) return
    const index = buildIndexAtOnce(documents)
    const names = [...new Set(documents.map(document => document.tool))].filter(tool => tool.length >= 8)
    const missed = names.flatMap((tool, at) =>
      slips(tool, at).filter(query => {
        const { hits } = index.search(query, { limit: 3 })
        return !hits.some(hit => index.documents[hit.document]?.tool === tool)
      }),
    )
    assert.deepEqual(missed, [])
  })

  test(`a filter on ${name} is applied before the ranking, by words and by meaning`, context => {
    const documents = whereRecorded(context, load)
    if (!documents) return
    const whole = buildIndexAtOnce(documents)
    const servers = [...new Set(documents.map(document => document.server))]
    const wanted = new Set(servers.filter((_, at) => at % 3 === 0))
    const visible = (document: number) => wanted.has(documents[document]?.server as string)
    for (const index of [whole, withRandomMeaning(whole)])
      for (const { query } of ownQueries()) {
        const { hits, total } = index.search(query, { limit: 10, visible })
        assert.ok(hits.every(hit => visible(hit.document)))
        assert.equal(hits.filter(({ weak }) => !weak).length, Math.min(10, total), query)
        if (index !== whole) assert.equal(hits.length, 10, query)
      }
  })
}

test('no random query makes the search fail, and equal queries give equal answers', () => {
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
  for (const [asked, numRuns] of [
    [index, RANDOM_QUERIES],
    [withRandomMeaning(index), RANDOM_QUERIES / 5],
  ] as const) {
    const check = fc.property(query, text => {
      const answer = asked.search(text, { limit: 5 })
      for (const hit of answer.hits) assert.ok(hit.relevance >= 0 && hit.relevance <= 1, `${hit.relevance}`)
      assert.ok(answer.hits.filter(({ weak }) => !weak).length <= Math.min(5, answer.total))
      assert.deepEqual(asked.search(text, { limit: 5 }), answer)
      assert.equal(typeof asked.queryText(text), 'string')
    })
    fc.assert(check, { numRuns, seed: 20_261_122 })
  }
})

test('a query of a million characters is answered', () => {
  const index = buildIndexAtOnce(ownCatalog())
  const { hits } = index.search(`translate text ${'list services '.repeat(80_000)}`, { limit: 3 })
  assert.equal(hits.length, 3)
})

function assertNamesFirst(index: SearchIndex): void {
  for (const { server, tool } of index.documents) {
    assert.equal(first(index, tool)?.tool, tool)
    for (const path of [`${server}:${tool}`, `${server}__${tool}`, `${server} ${tool}`]) {
      const found = first(index, path)
      assert.deepEqual([found?.server, found?.tool], [server, tool], path)
    }
  }
}

/** Adds random vectors, which must not change what a query by name finds. */
function withRandomMeaning(index: SearchIndex): SearchIndex {
  const documents = createVectorTable(
    index.documents.map(({ server, tool }) => randomVector(`${server}:${tool}`)),
    prepareDots(),
  )
  const search: SearchIndex['search'] = (query, options) =>
    index.search(query, { ...options, meaning: { query: randomVector(query), documents } })
  return { ...index, search }
}

function randomVector(seed: string): Vector {
  const bytes = createHash('sha256').update(seed).digest()
  const components = Array.from(bytes.subarray(0, DIMENSIONS), byte => byte - 127.5)
  const length = Math.hypot(...components)
  return quantize(components.map(component => component / length))
}

function first(index: SearchIndex, query: string): SearchDocument | undefined {
  const hit = index.search(query, { limit: 1 }).hits[0]
  return hit && index.documents[hit.document]
}

/** One letter swapped with the next, left out, doubled and replaced, each somewhere after the first. */
function slips(name: string, seed: number): string[] {
  return [0, 1, 2, 3].map(kind => {
    const at = 1 + ((seed * 7 + kind * 3) % (name.length - 2))
    const [before, letter, next, rest] = [
      name.slice(0, at),
      name.charAt(at),
      name.charAt(at + 1),
      name.slice(at + 2),
    ]
    const slipped = [next + letter, next, letter + letter + next, (letter === 'x' ? 'q' : 'x') + next][kind]
    return before + slipped + rest
  })
}
