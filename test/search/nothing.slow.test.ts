/** How often the search says that nothing fits: at most the given share of queries that a tool serves, and at least that of those that none serves. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import { skipModel } from '../support/model.ts'
import { buildIndexAtOnce } from './build-at-once.ts'
import { ownCatalog, ownFamilies, ownQueries } from './catalogs.ts'
import { heldOutCatalog, heldOutJudged } from './held-out.ts'
import { openEncoder } from './meaning.ts'
import { ask, type Judged, type Kind, trialsOf } from './nothing.ts'

const skip = skipModel()
/** Shares of the queries whose results are all weak: the most for `served`, the least for the other kinds. */
type Bounds = { size: number; words: Shares; meaning: Shares }
type Shares = Partial<Record<Kind, number>>

const HELD_OUT: Bounds[] = [
  {
    size: 30,
    words: { served: 0.02, named: 0.28, absent: 0.06, request: 0.04 },
    meaning: { served: 0.02, named: 0.85, absent: 0.68, request: 0.35 },
  },
  {
    size: 300,
    words: { served: 0.02, named: 0.24, absent: 0.01 },
    meaning: { served: 0.02, named: 0.61, absent: 0.26, request: 0.35 },
  },
]
/** Nothing was learned from these servers, which have few tools each; one of their queries names its product. */
const OWN: Bounds[] = [
  { size: 30, words: { served: 0.02, absent: 0.06 }, meaning: { served: 0.02, absent: 0.83 } },
]

let encoder: SentenceEncoder
before(async () => {
  if (!skip) encoder = await openEncoder()
})
after(() => encoder?.close())

test('by words alone, the share of queries that are marked as served by no tool is within the bounds', async context => {
  await assertMarks({ signal: context.signal, diagnostic: line => context.diagnostic(line) }, 'words')
})

test('with the model, the share of queries that are marked as served by no tool is within the bounds', {
  skip,
}, async context => {
  await assertMarks({ signal: context.signal, diagnostic: line => context.diagnostic(line) }, 'meaning')
})

async function assertMarks(
  { signal, diagnostic }: { signal: AbortSignal; diagnostic(line: string): void },
  by: 'words' | 'meaning',
): Promise<void> {
  const broken: string[] = []
  for (const [name, documents, judged, bounds] of [
    ['held out of training', heldOutCatalog(), heldOutJudged(), HELD_OUT],
    ['own', ownCatalog(), { queries: ownQueries(), requests: [], families: ownFamilies() }, OWN],
  ] as [string, SearchDocument[], Judged, Bounds[]][])
    for (const { size, [by]: shares } of bounds) {
      const queries = judged.queries.filter(({ style }) => style !== 'languages')
      const trials = trialsOf(documents, { ...judged, queries }, size)
      const index = buildIndexAtOnce(documents)
      const answers = await ask(
        index,
        trials,
        by === 'meaning' ? encoder : undefined,
        signal,
        (part, { query }, meaning) => part.search(query, { limit: 5, meaning }).hits.every(hit => hit.weak),
      )
      for (const [kind, own] of Map.groupBy(answers, ({ trial }) => trial.kind)) {
        const share = own.filter(({ answer }) => answer).length / own.length
        const line = `${name}, ${size} tools, ${kind}: ${share.toFixed(3)} of ${own.length} marked`
        diagnostic(line)
        const bound = shares[kind] ?? 0
        if (kind === 'served' ? share > bound : share < bound) broken.push(`${line}, not ${bound}`)
      }
    }
  assert.deepEqual(broken, [])
}
