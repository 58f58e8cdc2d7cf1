/** The quality of the search by words alone never falls below its floors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LexicalIndex } from '../../router/catalog/search/build.ts'
import { mean } from '../../router/catalog/search/measures.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import { extraQueries, type JudgedQuery, ownCatalog, ownExtras, ownQueries } from './catalogs.ts'
import { belowFloor, describeMeasures, type Labelled, MEAN_FLOORS, ownSets, sharedSets } from './labelled.ts'
import { measure } from './metrics.ts'
import { whereRecorded } from './where-recorded.ts'

test("the project's own queries reach their floors", context => {
  const below = measureAll(ownSets(), line => context.diagnostic(line)).flatMap(part => part.below)
  assert.deepEqual(below, [])
})

test('the labelled sets beside the project reach their floors, and so does their weighted mean', context => {
  const sets = whereRecorded(context, sharedSets)
  if (!sets) return
  const parts = measureAll(sets, line => context.diagnostic(line))
  const all = mean(parts.filter(part => part.weight > 0))
  context.diagnostic(describeMeasures('weighted mean', all))
  const below = belowFloor('weighted mean', all, MEAN_FLOORS.words)
  assert.deepEqual([...parts.flatMap(part => part.below), ...below], [])
})

test("the project's own catalog is valid, and its queries name what is in it", () => {
  const catalog = ownCatalog()
  assert.ok(catalog.length >= 150)
  for (const tool of catalog) assert.equal(tool.inputSchema?.type, 'object', tool.tool)
  assertJudged(catalog, ownQueries())
  assertJudged(ownExtras(), extraQueries())
})

function measureAll(sets: readonly Labelled[], say: (line: string) => void) {
  const indexes = new Map<readonly SearchDocument[], LexicalIndex>()
  return sets.map(({ name, documents, queries, floors, weight }) => {
    const index = indexes.get(documents) ?? buildIndexAtOnce(documents)
    indexes.set(documents, index)
    const measures = measure(index, queries)
    say(describeMeasures(name, measures))
    return { measures, weight, below: belowFloor(name, measures, floors.words) }
  })
}

function assertJudged(documents: readonly SearchDocument[], queries: readonly JudgedQuery[]): void {
  const paths = new Set(documents.map(({ server, tool }) => `${server}:${tool}`))
  assert.equal(paths.size, documents.length)
  for (const { id, relevant } of queries)
    for (const { server, tool } of relevant) assert.ok(paths.has(`${server}:${tool}`), id)
}
