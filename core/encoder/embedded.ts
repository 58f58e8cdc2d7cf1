/** The embedded sentence encoder: a thread with the model, and the vectors that were made before. */
import type { SearchText } from '../catalog/search-text.ts'
import type { Vector } from '../catalog/vectors.ts'
import { messageOf } from '../errors.ts'
import type { SentenceEncoder } from './encoder.ts'
import { createEncoderThread } from './encoder-thread.ts'
import { DIMENSIONS, ENCODER_ID } from './minilm.ts'
import { createSerialQueue } from './serial-queue.ts'
import { openVectorCache, type VectorCache } from './vector-cache.ts'

/** Some 100 to 200 ms of a core: so long it takes until others have their turn, and a cancelled batch has an end. */
const TEXTS_A_BATCH = 8
/** Half a second of a core: who comes then is better served by words alone. */
const MAX_WAITING_QUERIES = 100
/** The rest of a longer text would be cut by its tokens anyway. */
const MAX_CHARACTERS = 16_384
/** Each call waits with one batch at most. */
const MAX_WAITING_BATCHES = 10_000
/** 8 MB on disk. */
const MAX_CACHED_VECTORS = 20_000

export type EmbeddedOptions = {
  /** As `portolan model` made it; see model-file.ts. */
  modelFile: string
  /** Vectors are kept here from start to start; without it they are made anew. */
  cacheFile?: string
  /** Told, in one sentence, why there is no encoder. */
  unavailable?: (reason: string) => void
  /** Told once that the cache cannot be written; all goes on without. */
  onCacheFailure?: (error: unknown) => void
  /** Told that it failed and cannot be started anew, as with a model that was taken away: to be closed, and opened again later. */
  onLost?: () => void
}

/** Undefined where the model or the kernels are not there, or damaged. Loads both, in some 100 ms of another thread. */
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
    const plain = texts.map(({ full, name }) => ({ full: cut(full), name: cut(name) }))
    const vectors = await batches(() => thread.ask({ texts: plain }), signal)
    for (const [at, vector] of vectors.entries()) cache?.put(texts[at]?.key ?? '', vector)
    return vectors
  }
  return {
    id: ENCODER_ID,
    async encodeQuery(query, signal) {
      const [vector] = await queries(() => thread.ask({ query: cut(query) }), signal)
      return vector as Vector
    },
    async encodeTexts(texts, signal) {
      const unique = [...new Map(texts.map(text => [text.key, text])).values()]
      const vectors = new Map(unique.map(({ key }) => [key, cache?.get(key)]))
      const missing = unique.filter(({ key }) => !vectors.get(key))
      for (let at = 0; at < missing.length; at += TEXTS_A_BATCH) {
        const batch = missing.slice(at, at + TEXTS_A_BATCH)
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

function cut(text: string): string {
  return text.slice(0, MAX_CHARACTERS)
}
