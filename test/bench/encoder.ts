/** Measures the embedded encoder: its start, queries when idle and while tools are encoded, tools, a restart with 10,000 cached vectors. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { type SearchText, searchTexts } from '../../core/catalog/search-text.ts'
import type { CatalogTool, ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { createEmbeddedEncoder, type EmbeddedOptions } from '../../core/encoder/embedded.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { DIMENSIONS, ENCODER_ID } from '../../core/encoder/minilm.ts'
import { openVectorCache } from '../../core/encoder/vector-cache.ts'
import { ownQueries } from '../search/catalogs.ts'
import { skipModel, testModelFile } from '../support/model.ts'
import { defaultCatalogs, type ReplayCatalog } from '../upstreams/replay/catalogs.ts'
import { residentMegabytes } from './load.ts'
import { type BenchRow, quantile } from './row.ts'

/** Every tenth tool is encoded. */
const SAMPLE_STEP = 10
const CACHED = 10_000
const QUERIES = 200

const signal = new AbortController().signal

/** Returns no rows if the model is missing. */
export async function benchEncoder(): Promise<BenchRow[]> {
  if (skipModel()) return []
  const folder = mkdtempSync(join(tmpdir(), 'portolan-bench-encoder-'))
  try {
    const [texts, before] = [sampleTexts(), residentMegabytes(process.pid)]
    const started = performance.now()
    const encoder = await open({})
    const loadMs = performance.now() - started
    const rows = [...(await benchQueries(encoder, texts)), await benchTexts(encoder, texts)]
    const megabytes = residentMegabytes(process.pid) - before
    await encoder.close()
    return [startRow(loadMs, megabytes), ...rows, await benchRestart(join(folder, 'vectors'))]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function open(options: Partial<EmbeddedOptions>): Promise<SentenceEncoder> {
  let reason = ''
  const unavailable = (why: string) => {
    reason = why
  }
  const encoder = await createEmbeddedEncoder({ modelFile: testModelFile(), ...options, unavailable })
  if (!encoder) throw new Error(reason)
  return encoder
}

function startRow(loadMs: number, megabytes: number): BenchRow {
  return {
    what: 'sentence encoder: start; resident memory after encoding texts, including the worker',
    aim: '≤ 300 ms; ≤ 50 MB',
    measured: `${loadMs.toFixed(0)} ms; ${megabytes.toFixed(0)} MB`,
    ok: loadMs <= 300 && megabytes <= 50,
  }
}

async function benchQueries(encoder: SentenceEncoder, texts: SearchText[]): Promise<BenchRow[]> {
  await queryTimes(encoder, () => false)
  const idle = await queryTimes(encoder, () => false)
  let done = false
  const encoding = encoder.encodeTexts(texts, signal).then(() => {
    done = true
  })
  const busy = await queryTimes(encoder, () => done)
  await encoding
  const [idleP50, busyP50] = [quantile(idle, 0.5), quantile(busy, 0.5)]
  return [
    queryRow('when idle', '≤ 7 ms', idle, idleP50 <= 7),
    queryRow('while tools are encoded', '≤ 2 × idle', busy, busyP50 <= 2 * idleP50),
  ]
}

function queryRow(when: string, aim: string, times: number[], ok: boolean): BenchRow {
  const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)]
  const measured = `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`
  return { what: `encoding a query, ${when}`, aim: `p50 ${aim}`, measured, ok }
}

/** Durations of queries, in milliseconds; stops early when `isOver` returns true. */
async function queryTimes(encoder: SentenceEncoder, isOver: () => boolean): Promise<number[]> {
  const times: number[] = []
  for (const { query } of ownQueries().slice(0, QUERIES)) {
    if (isOver()) break
    const started = performance.now()
    await encoder.encodeQuery(query)
    times.push(performance.now() - started)
  }
  return times
}

async function benchTexts(encoder: SentenceEncoder, texts: SearchText[]): Promise<BenchRow> {
  const before = process.cpuUsage()
  const started = performance.now()
  await encoder.encodeTexts(texts, signal)
  const { user, system } = process.cpuUsage(before)
  const perTool = (user + system) / 1_000 / texts.length
  const wall = (performance.now() - started) / texts.length
  return {
    what: 'encoding a new tool',
    aim: '≤ 40 ms of CPU time',
    measured: `${perTool.toFixed(0)} ms (elapsed ${wall.toFixed(0)} ms)`,
    ok: perTool <= 40,
  }
}

/** Measures the time from the start of the encoder until it has returned 10,000 cached vectors. */
async function benchRestart(cacheFile: string): Promise<BenchRow> {
  const texts = Array.from({ length: CACHED }, (_, id) => ({
    key: `tool-${id}`.padEnd(22, '_'),
    full: `tool ${id}`,
    name: 'tool',
  }))
  await fill(cacheFile, texts)
  const started = performance.now()
  const encoder = await open({ cacheFile })
  await encoder.encodeTexts(texts, signal)
  const seconds = (performance.now() - started) / 1_000
  await encoder.close()
  return {
    what: 'sentence encoder, restart with 10,000 cached vectors',
    aim: '≤ 0.3 s',
    measured: `${seconds.toFixed(2)} s`,
    ok: seconds <= 0.3,
  }
}

async function fill(cacheFile: string, texts: readonly SearchText[]): Promise<void> {
  const bounds = { encoder: ENCODER_ID, dimensions: DIMENSIONS, maxVectors: texts.length }
  const cache = await openVectorCache({ file: cacheFile, ...bounds })
  for (const [at, { key }] of texts.entries())
    cache.put(key, { scale: 0.001, values: new Int8Array(DIMENSIONS).fill(at) })
  await cache.close()
}

function sampleTexts(): SearchText[] {
  const texts = defaultCatalogs().flatMap(catalog => {
    const tools = { allow: ['*'], deny: [], overrides: {} }
    return searchTexts({ name: catalog.name, keywords: [], tools }, serverCatalog(catalog))
  })
  return texts.filter((_, at) => at % SAMPLE_STEP === 0)
}

function serverCatalog(catalog: ReplayCatalog): ServerCatalog {
  const { name: server, protocolVersion: protocol, serverInfo, capabilities, instructions } = catalog
  const tools = catalog.tools.map(
    (definition): CatalogTool => ({ definition, tokens: 0, descriptionTokens: 0, schemaTokens: 0 }),
  )
  const rest = { invalid: [], resources: [], resourceTemplates: [], prompts: [], incomplete: [], digest: '' }
  return { server, protocol, serverInfo, capabilities, instructions, tools, ...rest }
}
