/** The encoding controller: computes sentence vectors of servers' tools in the background, a few texts of each server in turn. */
import type { Clock, Timer } from '../../core/async.ts'
import { type SearchText, type ServerKnowledge, searchTexts } from '../../core/catalog/search-text.ts'
import type { CatalogVectors, ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { packVectors, unpackVectors, type Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import { ENCODER_ID } from '../../core/encoder/minilm.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OpenEncoder } from '../operator.ts'
import type { Controller } from '../runtime/controller.ts'
import type { OperatorMetrics } from '../runtime/operator-metrics.ts'
import { Queue } from '../runtime/queue.ts'

/** How many texts of a server are encoded before the next server's. They take about half a second of one core. */
const TEXTS_PER_TURN = 16
/** Texts of one server that get vectors; search matches the others by words only. */
export const MAX_TEXTS = 20_000
/** The model takes about 40 MB and loads quickly: it is unloaded after this time without work. */
const IDLE_CLOSE_MS = 10_000

export type EncodingOptions = {
  openEncoder: OpenEncoder
  /** Called when all vectors of a server are computed. */
  onDone: (key: string) => void
  clock: Clock
  random: () => number
  metrics: OperatorMetrics
}

/** The work for one server: texts without a vector, and vectors that are not published yet. */
type Job = {
  missing: SearchText[]
  /** By the text's key. */
  made: Map<string, Vector>
}

export type Encoding = ReturnType<typeof createEncoding>

export function createEncoding({ openEncoder, onDone, clock, random, metrics }: EncodingOptions) {
  const queue = new Queue({ clock, random })
  const jobs = new Map<string, Job>()
  const model = createModel(openEncoder, clock)
  metrics.watchVectors(() => jobs.values().reduce((count, { missing }) => count + missing.length, 0))

  const reconcile: Controller['reconcile'] = async (key, signal) => {
    const batch = jobs.get(key)?.missing.slice(0, TEXTS_PER_TURN) ?? []
    if (batch.length === 0) return undefined
    const vectors = await model.encode(batch, signal)
    metrics.encoderAvailable(vectors !== undefined)
    const job = jobs.get(key)
    if (!vectors) jobs.clear()
    if (!vectors || !job) return undefined
    metrics.encoded(batch.length)
    for (const [at, text] of batch.entries()) job.made.set(text.key, vectors[at] as Vector)
    job.missing = job.missing.filter(text => !job.made.has(text.key))
    if (job.missing.length > 0) return { afterMs: 0 }
    onDone(key)
    return undefined
  }

  return {
    controller: { name: 'encoding', queue, workers: 1, reconcile } satisfies Controller,
    /** The catalog with all known vectors: those of `published`, and those computed since. */
    complete(
      key: string,
      server: McpServer,
      catalog: ServerCatalog,
      published?: ServerCatalog,
    ): ServerCatalog {
      const texts = searchTexts(knowledgeOf(server), catalog).slice(0, MAX_TEXTS)
      const made = jobs.get(key)?.made ?? new Map<string, Vector>()
      const known = new Map([...vectorsOf(published?.vectors), ...made])
      const vectors = pick(texts, known)
      const missing = texts.filter(text => !vectors.has(text.key))
      jobs.set(key, { missing, made: pick(texts, made) })
      const { vectors: _, ...bare } = catalog
      return vectors.size === 0 ? bare : { ...bare, vectors: packVectors(ENCODER_ID, vectors) }
    },
    /** Call after the catalog that `complete` returned was published: starts computing the vectors that it lacks. */
    published(key: string): void {
      if (jobs.get(key)?.missing.length === 0 || model.isAbsent()) jobs.delete(key)
      else queue.add(key)
    },
    /** Whether all missing vectors are computed but not published yet. */
    isDone(key: string): boolean {
      return jobs.get(key)?.missing.length === 0
    },
    /** Call when the server is gone. */
    forget(key: string): void {
      jobs.delete(key)
    },
    close: model.close,
  }
}

/** Loads the model on demand. If it is missing, it is not searched for again, since the image of a running pod does not change. */
function createModel(openEncoder: OpenEncoder, clock: Clock) {
  let encoder: SentenceEncoder | undefined
  let absent = false
  let idle: Timer | undefined
  const close = async () => {
    idle?.cancel()
    const ending = encoder
    encoder = undefined
    await ending?.close()
  }
  return {
    isAbsent: () => absent,
    close,
    /** Vectors in the order of the texts; undefined if there is no model. One call at a time. Throws Fault `unavailable`. */
    async encode(texts: readonly SearchText[], signal: AbortSignal): Promise<Vector[] | undefined> {
      if (absent) return undefined
      idle?.cancel()
      encoder ??= await openEncoder()
      absent = encoder === undefined
      try {
        return await encoder?.encodeTexts(texts, signal)
      } finally {
        if (encoder) idle = clock.after(IDLE_CLOSE_MS, () => void close())
      }
    },
  }
}

/** Must equal what `resolve` gives to routers, which build the same texts from it. */
function knowledgeOf({ metadata: { name }, spec }: McpServer): ServerKnowledge {
  const { title, description, category, keywords, tools } = spec
  return { name, title, description, category, keywords, tools }
}

/** The vectors by the key of their text. None if another encoder made them, since they are not comparable. */
function vectorsOf(vectors: CatalogVectors | undefined): ReadonlyMap<string, Vector> {
  return vectors?.encoder === ENCODER_ID ? unpackVectors(vectors) : new Map()
}

/** Only the vectors of these texts. */
function pick(texts: readonly SearchText[], vectors: ReadonlyMap<string, Vector>): Map<string, Vector> {
  return new Map(
    texts.flatMap(({ key }) => {
      const vector = vectors.get(key)
      return vector ? [[key, vector] as const] : []
    }),
  )
}
