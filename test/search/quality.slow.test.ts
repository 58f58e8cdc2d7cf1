/** The quality of the search with the model never falls below its floors. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { mean } from '../../router/catalog/search/measures.ts'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import { skipModel } from '../support/model.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import { belowFloor, describeMeasures, type Labelled, MEAN_FLOORS, ownSets, sharedSets } from './labelled.ts'
import { openEncoder, withMeaning } from './meaning.ts'
import { measure } from './metrics.ts'
import { whereRecorded } from './where-recorded.ts'

const skip = skipModel()
let encoder: SentenceEncoder

before(async () => {
  if (!skip) encoder = await openEncoder()
})
after(() => encoder?.close())

test("the project's own queries reach their floors", { skip }, async context => {
  const parts = await measureAll(ownSets(), context.signal, line => context.diagnostic(line))
  assert.deepEqual(
    parts.flatMap(part => part.below),
    [],
  )
})

test('the labelled sets beside the project reach their floors, and so does their weighted mean', {
  skip,
}, async context => {
  const sets = whereRecorded(context, sharedSets)
  if (!sets) return
  const parts = await measureAll(sets, context.signal, line => context.diagnostic(line))
  const all = mean(parts.filter(part => part.weight > 0))
  context.diagnostic(describeMeasures('weighted mean', all))
  const below = belowFloor('weighted mean', all, MEAN_FLOORS.meaning)
  assert.deepEqual([...parts.flatMap(part => part.below), ...below], [])
})

async function measureAll(sets: readonly Labelled[], signal: AbortSignal, say: (line: string) => void) {
  const indexes = new Map<readonly SearchDocument[], SearchIndex>()
  const parts = []
  for (const { name, documents, queries, floors, weight } of sets) {
    const index = indexes.get(documents) ?? (await indexOf(documents, sets, signal))
    indexes.set(documents, index)
    const measures = measure(index, queries)
    say(describeMeasures(name, measures))
    parts.push({ measures, weight, below: belowFloor(name, measures, floors.meaning) })
  }
  return parts
}

/** An index of a catalog, for all queries of all sets that share it. */
function indexOf(
  documents: readonly SearchDocument[],
  sets: readonly Labelled[],
  signal: AbortSignal,
): Promise<SearchIndex> {
  const queries = sets.filter(set => set.documents === documents).flatMap(set => set.queries)
  return withMeaning(
    buildIndexAtOnce(documents),
    queries.map(judged => judged.query),
    encoder,
    signal,
  )
}
