/** The embedded sentence encoder: a worker thread with the model, and a cache of earlier vectors. */
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'
import { messageOf } from '../errors.ts'
import type { SentenceEncoder } from './encoder.ts'
import { createEncoderThread } from './encoder-thread.ts'
import { DIMENSIONS, ENCODER_ID } from './minilm.ts'
import { createSerialQueue } from './serial-queue.ts'
import { openVectorCache, type VectorCache } from './vector-cache.ts'

/** 100 to 200 ms of CPU time: how long other calls wait for their turn, and how long a cancelled batch continues. */
const TEXTS_PER_BATCH = 8
/** About half a second of CPU time. Beyond it, a search that matches words only is better than a longer wait. */
const MAX_WAITING_QUERIES = 100
/** The rest of a longer text would exceed the limit of tokens anyway. */
const MAX_CHARACTERS = 16_384
/** Each call has at most one waiting batch. */
const MAX_WAITING_BATCHES = 10_000
/** 8 MB on disk. */
const MAX_CACHED_VECTORS = 20_000

export type EmbeddedOptions = {
  /** The file made by `portolan model`; see model-file.ts. */
  modelFile: string
  /** Where vectors are cached; without it they are computed again after each start. */
  cacheFile?: string
  /** Called with one sentence that says why there is no encoder. */
  unavailable?: (reason: string) => void
  /** Called once if the cache cannot be written; encoding continues without it. */
  onCacheFailure?: (error: unknown) => void
  /** Called if the thread failed and cannot be restarted, for example because the model was deleted. Close the encoder and retry later. */
  onLost?: () => void
}

/** Undefined if the model or the kernels are missing or damaged. Loads both in a worker thread, which takes about 100 ms. */
export async function createEmbeddedEncoder(options: EmbeddedOptions): Promise<SentenceEncoder | undefined> {
  const thread = createEncoderThread(options.modelFile, options.onLost)
  try {
    const [cache] = await Promise.all([openCache(options), thread.ready()])
    return embeddedEncoder(thread, cache)
  } catch (error) {
    await thread.close()
    options.unavailable?.(messageOf(error))
    return undefined
  }
}

async function openCache({ cacheFile, onCacheFailure }: EmbeddedOptions): Promise<VectorCache | undefined> {
  if (cacheFile === undefined) return undefined
  const bounds = { dimensions: DIMENSIONS, maxVectors: MAX_CACHED_VECTORS }
  return openVectorCache({ file: cacheFile, encoder: ENCODER_ID, ...bounds, onFailure: onCacheFailure })
}

function embeddedEncoder(
  thread: ReturnType<typeof createEncoderThread>,
  cache?: VectorCache,
): SentenceEncoder {
  const queries = createSerialQueue(MAX_WAITING_QUERIES)
  const batches = createSerialQueue(MAX_WAITING_BATCHES)
  const encodeBatch = async (texts: readonly SearchText[], signal: AbortSignal) => {
    const truncated = texts.map(({ full, name }) => ({ full: truncate(full), name: truncate(name) }))
    const vectors = await batches(() => thread.encode({ texts: truncated }), signal)
    for (const [at, vector] of vectors.entries()) cache?.put(texts[at]?.key ?? '', vector)
    return vectors
  }
  return {
    id: ENCODER_ID,
    async encodeQuery(query, signal) {
      const [vector] = await queries(() => thread.encode({ query: truncate(query) }), signal)
      return vector as Vector
    },
    async encodeTexts(texts, signal) {
      const unique = [...new Map(texts.map(text => [text.key, text])).values()]
      const vectors = new Map(unique.map(({ key }) => [key, cache?.get(key)]))
      const missing = unique.filter(({ key }) => !vectors.get(key))
      for (let at = 0; at < missing.length; at += TEXTS_PER_BATCH) {
        const batch = missing.slice(at, at + TEXTS_PER_BATCH)
        const made = await encodeBatch(batch, signal)
        for (const [at, { key }] of batch.entries()) vectors.set(key, made[at])
      }
      return texts.map(({ key }) => vectors.get(key) as Vector)
    },
    async close() {
      await Promise.all([thread.close(), cache?.close()])
    },
  }
}

function truncate(text: string): string {
  return text.slice(0, MAX_CHARACTERS)
}
