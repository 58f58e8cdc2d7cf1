/** Measures the search: build, longest block of the event loop, latency, at 784 and at 10,000 tools. */
import { setImmediate } from 'node:timers/promises'
import { buildIndex, type LexicalIndex, runSliced } from '../../router/catalog/search/build.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'
import { manyTools, ownCatalog, ownQueries, recordedCatalog } from '../search/catalogs.ts'
import { type BenchRow, quantile } from './row.ts'

const SLICE_MS = 5
const MAX_BLOCK_MS = 20
const QUERY_ROUNDS = 5

export async function benchSearch(): Promise<BenchRow[]> {
  const catalog = recordedCatalog() ?? manyTools(ownCatalog(), 784)
  const small = await benchCatalog(catalog, { buildMs: 300, searchMs: 0.3 })
  const large = await benchCatalog(manyTools(catalog, 10_000), { buildMs: 1_700, searchMs: 2 })
  return [...small, ...large]
}

async function benchCatalog(
  documents: SearchDocument[],
  aims: { buildMs: number; searchMs: number },
): Promise<BenchRow[]> {
  const tools = `${documents.length.toLocaleString('en')} tools`
  const built = await build(documents)
  const rebuilt = await build(documents, built.index)
  const latencies = search(rebuilt.index)
  const median = quantile(latencies, 0.5)
  const block = Math.max(built.longestMs, rebuilt.longestMs)
  const ms = (value: number) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`
  return [
    {
      what: `search index, build, ${tools}`,
      aim: `≤ ${ms(aims.buildMs)}`,
      measured: `${ms(built.totalMs)}, unchanged again ${ms(rebuilt.totalMs)}`,
      ok: built.totalMs <= aims.buildMs,
    },
    {
      what: `search index, longest block of the event loop, ${tools}`,
      aim: `≤ ${MAX_BLOCK_MS} ms`,
      measured: ms(block),
      ok: block <= MAX_BLOCK_MS,
    },
    {
      what: `search, ${tools}`,
      aim: `p50 ≤ ${aims.searchMs} ms`,
      measured: `p50 ${ms(median)}, p95 ${ms(quantile(latencies, 0.95))}`,
      ok: median <= aims.searchMs,
    },
  ]
}

async function build(documents: SearchDocument[], previous?: LexicalIndex) {
  const start = performance.now()
  let sliceStart = start
  let longestMs = 0
  const index = await runSliced(buildIndex(documents, previous), () => {
    const sliceMs = performance.now() - sliceStart
    longestMs = Math.max(longestMs, sliceMs)
    if (sliceMs < SLICE_MS) return undefined
    return setImmediate().then(() => {
      sliceStart = performance.now()
    })
  })
  longestMs = Math.max(longestMs, performance.now() - sliceStart)
  return { index, totalMs: performance.now() - start, longestMs }
}

function search(index: LexicalIndex): number[] {
  const queries = ownQueries().map(judged => judged.query)
  const latencies: number[] = []
  for (let round = 0; round < QUERY_ROUNDS; round++)
    for (const query of queries) {
      const start = performance.now()
      index.search(query, { limit: 10 })
      if (round > 0) latencies.push(performance.now() - start)
    }
  return latencies
}
