/** The index of a part of the documents gives exactly the answers of an index that is built from only these documents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quantize } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import { DIMENSIONS } from '../../core/encoder/minilm.ts'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import { embed } from '../support/embeddings.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import {
  extraQueries,
  ownCatalog,
  ownExtras,
  ownQueries,
  recordedCatalog,
  recordedQueries,
} from './catalogs.ts'
import { randomQueries } from './random-queries.ts'
import { whereRecorded } from './where-recorded.ts'

const SEED = 20_261_123
const RUNS = 8
const QUERIES_A_PART = 12

test("an index of a part of the project's own catalog answers as one built from only this part", () => {
  assertParts(ownCatalog(), queriesOf(ownQueries()))
})

test('an index of a part of unsorted resources, templates and prompts answers as one built from only this part', () => {
  const extras = ownExtras().toSorted((a, b) => (a.tool < b.tool ? -1 : 1))
  assertParts(extras, queriesOf(extraQueries()))
})

test('an index of a part of the recorded catalog answers as one built from only this part', context => {
  const documents = whereRecorded(context, recordedCatalog)
  if (documents) assertParts(documents, queriesOf(recordedQueries()))
})

test('a part of a part, an empty part, and an index built from the index of a part give the right answers', () => {
  const documents = ownCatalog()
  const whole = buildIndexAtOnce(documents)
  const part = whole.under(Int32Array.of(1, 3, 5, 7, 11))
  const smaller = part.under(Int32Array.of(0, 4))
  assert.deepEqual(smaller.documents, [documents[1], documents[11]])
  assertSame(smaller, buildIndexAtOnce(smaller.documents), queriesOf(ownQueries()))
  const none = whole.under(new Int32Array())
  assert.deepEqual(none.search('create an issue', { limit: 5 }), { hits: [], total: 0 })
  assertSame(buildIndexAtOnce(documents, part), whole, queriesOf(ownQueries()))
})

test('a query that has a word of another language is translated whatever hidden servers are called', () => {
  const about = (server: string, tool: string): SearchDocument => ({
    ...(ownCatalog()[0] as SearchDocument),
    server,
    serverTitle: undefined,
    tool,
  })
  const documents = [about('notes', 'get'), about('wetter', 'forecast')]
  const visible = documents.slice(0, 1)
  const query = 'zeige mir das Wetter von morgen'
  const part = buildIndexAtOnce(documents).under(Int32Array.of(0))
  assert.equal(part.queryText(query), buildIndexAtOnce(visible).queryText(query))
  assertSame(part, buildIndexAtOnce(visible), [query])
})

function assertParts(documents: readonly SearchDocument[], judged: readonly string[]): void {
  const whole = buildIndexAtOnce(documents)
  const servers = [...new Set(documents.map(({ server }) => server))]
  const all = [...judged, ...randomQueries(documents, judged.length)]
  const queries = fc.array(fc.constantFrom(...all), { minLength: QUERIES_A_PART, maxLength: QUERIES_A_PART })
  const hidden = fc.tuple(fc.subarray(servers), fc.subarray([...documents.keys()]))
  const property = fc.property(hidden, queries, ([hiddenServers, hiddenDocuments], asked) => {
    const [without, lacking] = [new Set(hiddenServers), new Set(hiddenDocuments)]
    const isIn = ({ server }: SearchDocument, at: number) => !without.has(server) && !lacking.has(at)
    const members = Int32Array.from(documents.keys().filter(at => isIn(documents[at] as SearchDocument, at)))
    const part = whole.under(members)
    const separate = buildIndexAtOnce(part.documents, whole)
    assertSame(part, separate, asked)
  })
  fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: true })
}

function assertSame(part: SearchIndex, separate: SearchIndex, queries: readonly string[]): void {
  const vectors = separate.documents.map(({ tool }, at) =>
    at % 9 === 0 ? undefined : quantize(embed(tool, DIMENSIONS)),
  )
  const table = createVectorTable(vectors, prepareDots())
  for (const query of queries) {
    const meaning = { query: quantize(embed(query, DIMENSIONS)), documents: table }
    assert.equal(part.queryText(query), separate.queryText(query))
    for (const options of [
      { limit: 20 },
      { limit: 20, meaning },
      { limit: 20, visible: (document: number) => document % 3 !== 0 },
    ]) {
      assert.deepEqual(part.search(query, options), separate.search(query, options), query)
      assert.deepEqual(part.explain(query, options), separate.explain(query, options), query)
    }
  }
}

function queriesOf(judged: readonly { query: string }[]): string[] {
  return judged.map(({ query }) => query)
}
