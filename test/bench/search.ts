/** Measures search with 784 and 10,000 tools: index build, longest block of the event loop, latency with and without the model, worst queries. */
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Vector } from '../../core/catalog/vectors.ts'
import { prepareDots } from '../../core/encoder/dots.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { buildIndex, type LexicalIndex, runSliced } from '../../router/catalog/search/build.ts'
import type { SearchDocument, SearchOptions } from '../../router/catalog/search/search-index.ts'
import { createVectorTable } from '../../router/catalog/search/vectors.ts'
import { manyTools, ownCatalog, ownQueries, recordedCatalog, recordedQueries } from '../search/catalogs.ts'
import { openEncoder, textOf } from '../search/meaning.ts'
import { randomQueries } from '../search/random-queries.ts'
import { skipModel } from '../support/model.ts'
import { type BenchRow, quantile } from './row.ts'

const SLICE_MS = 5
const MAX_BLOCK_MS = 20
const QUERY_ROUNDS = 5
const RANDOM_QUERIES = 10_000
const MAX_WORST_RATIO = 20
/** The slowest queries are repeated three times, because a single slow run can be caused by the machine. */
const SUSPECTS = 100
const SUSPECT_ROUNDS = 3
const MEGABYTE = 1024 * 1024

type Aims = { buildMs: number; heapMegabytes: number; wordsMs: number; meaningMs: [p50: number, p95: number] }

export async function benchSearch(): Promise<BenchRow[]> {
  const catalog = recordedCatalog() ?? manyTools(ownCatalog(), 784)
  const encoder = skipModel() ? undefined : await openEncoder()
  try {
    const small: Aims = { buildMs: 300, heapMegabytes: 16, wordsMs: 0.3, meaningMs: [5, 12] }
    const large: Aims = { buildMs: 1_700, heapMegabytes: 60, wordsMs: 2, meaningMs: [8, 18] }
    return [
      ...(await benchCatalog(catalog, catalog.length, encoder, small)),
      ...(await benchCatalog(catalog, 10_000, encoder, large)),
    ]
  } finally {
    await encoder?.close()
  }
}

async function benchCatalog(
  catalog: SearchDocument[],
  count: number,
  encoder: SentenceEncoder | undefined,
  aims: Aims,
): Promise<BenchRow[]> {
  const documents = manyTools(catalog, count)
  const tools = `${documents.length.toLocaleString('en')} tools`
  const before = usedMegabytes()
  const built = await build(documents)
  const megabytes = usedMegabytes() - before
  const rebuilt = await build(documents, built.index)
  const { index } = rebuilt
  const rows = [
    ...buildRows(tools, built, rebuilt, aims),
    memoryRow(tools, megabytes, aims),
    wordsRow(tools, index, aims),
    worstRow(`by words, ${tools}`, index),
  ]
  if (!encoder) return rows
  const meaning = await meaningOf(catalog, count, encoder)
  return [
    ...rows,
    await meaningRow(tools, index, encoder, meaning, aims),
    worstRow(`by words and meaning, without encoding, ${tools}`, index, meaning),
  ]
}

function buildRows(tools: string, built: Built, rebuilt: Built, { buildMs }: Aims): BenchRow[] {
  const block = Math.max(built.longestMs, rebuilt.longestMs)
  return [
    {
      what: `search index, build, ${tools}`,
      aim: `≤ ${ms(buildMs)}`,
      measured: `${ms(built.totalMs)}, rebuild without changes ${ms(rebuilt.totalMs)}`,
      ok: built.totalMs <= buildMs,
    },
    {
      what: `search index, longest block of the event loop, ${tools}`,
      aim: `≤ ${MAX_BLOCK_MS} ms`,
      measured: ms(block),
      ok: block <= MAX_BLOCK_MS,
    },
  ]
}

function wordsRow(tools: string, index: LexicalIndex, { wordsMs }: Aims): BenchRow {
  const queries = ownQueries().map(judged => judged.query)
  const latencies: number[] = []
  for (let round = 0; round < QUERY_ROUNDS; round++)
    for (const query of queries) {
      const took = timeOf(() => index.search(query, { limit: 10 }))
      if (round > 0) latencies.push(took)
    }
  const median = quantile(latencies, 0.5)
  return {
    what: `search by words, ${tools}`,
    aim: `p50 ≤ ${wordsMs} ms`,
    measured: `p50 ${ms(median)}, p95 ${ms(quantile(latencies, 0.95))}`,
    ok: median <= wordsMs,
  }
}

/** Each query once, with the encoder in its thread. */
async function meaningRow(
  tools: string,
  index: LexicalIndex,
  encoder: SentenceEncoder,
  { documents }: Meaning,
  { meaningMs: [p50, p95] }: Aims,
): Promise<BenchRow> {
  const latencies: number[] = []
  for (const { query } of [...ownQueries(), ...recordedQueries()]) {
    const started = performance.now()
    const vector = await encoder.encodeQuery(index.queryText(query))
    index.search(query, { limit: 10, meaning: { query: vector, documents } })
    latencies.push(performance.now() - started)
  }
  const [median, slow] = [quantile(latencies, 0.5), quantile(latencies, 0.95)]
  return {
    what: `search with the model, query encoded, ${tools}`,
    aim: `p50 ≤ ${p50} ms, p95 ≤ ${p95} ms`,
    measured: `p50 ${ms(median)}, p95 ${ms(slow)}`,
    ok: median <= p50 && slow <= p95,
  }
}

function worstRow(what: string, index: LexicalIndex, meaning?: Meaning): BenchRow {
  const ask = (query: string) => timeOf(() => index.search(query, { limit: 10, meaning }))
  const queries = randomQueries(index.documents, RANDOM_QUERIES)
  const asked = queries.map(query => ({ query, took: ask(query) })).sort((a, b) => b.took - a.took)
  const median = quantile(
    asked.map(({ took }) => took),
    0.5,
  )
  const again = asked
    .slice(0, SUSPECTS)
    .map(({ query }) => Math.min(...Array.from({ length: SUSPECT_ROUNDS }, () => ask(query))))
  const worst = Math.max(...again, asked[SUSPECTS]?.took ?? 0)
  return {
    what: `search ${what}: worst of ${RANDOM_QUERIES.toLocaleString('en')} random queries`,
    aim: `≤ ${MAX_WORST_RATIO} × median`,
    measured: `${ms(worst)}, ${(worst / median).toFixed(1)} × median`,
    ok: worst <= MAX_WORST_RATIO * median,
  }
}

function memoryRow(tools: string, megabytes: number, { heapMegabytes }: Aims): BenchRow {
  return {
    what: `search index, heap, ${tools}`,
    aim: `≤ ${heapMegabytes} MB`,
    measured: `${megabytes.toFixed(0)} MB`,
    ok: megabytes <= heapMegabytes,
  }
}

/** The heap in use after a full garbage collection. */
function usedMegabytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed / MEGABYTE
}

type Meaning = NonNullable<SearchOptions['meaning']>

/** Copies of a tool share its vector. The query vector is arbitrary, because it does not influence the time. */
async function meaningOf(
  catalog: SearchDocument[],
  count: number,
  encoder: SentenceEncoder,
): Promise<Meaning> {
  const vectors = await encoder.encodeTexts(catalog.map(textOf), new AbortController().signal)
  const documents = createVectorTable(
    Array.from({ length: count }, (_, at) => vectors[at % vectors.length]),
    prepareDots(),
  )
  return { query: vectors[0] as Vector, documents }
}

type Built = Awaited<ReturnType<typeof build>>

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

function timeOf(act: () => unknown): number {
  const start = performance.now()
  act()
  return performance.now() - start
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`
}
