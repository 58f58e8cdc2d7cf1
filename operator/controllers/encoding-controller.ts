/** The controller that makes sentence vectors of what servers offer, in the background: a few texts of each server in turn. */
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

/** Some half a second of a core: then it is the next server's turn. */
const TEXTS_A_TURN = 16
/** Of one server; what is beyond is found by words alone. */
export const MAX_TEXTS = 20_000
/** The model takes some 40 MB, and a moment to load: it is let go after this long without work. */
const IDLE_CLOSE_MS = 10_000

export type EncodingOptions = {
  openEncoder: OpenEncoder
  /** All vectors of a server are there now. */
  onDone: (key: string) => void
  clock: Clock
  random: () => number
  metrics: OperatorMetrics
}

/** Of one server, until its vectors stand in the cluster. */
type Job = {
  missing: SearchText[]
  /** By key of the text. */
  made: Map<string, Vector>
}

export type Encoding = ReturnType<typeof createEncoding>

export function createEncoding({ openEncoder, onDone, clock, random, metrics }: EncodingOptions) {
  const queue = new Queue({ clock, random })
  const jobs = new Map<string, Job>()
  const model = createModel(openEncoder, clock)
  metrics.watchVectors(() => jobs.values().reduce((count, { missing }) => count + missing.length, 0))

  const reconcile: Controller['reconcile'] = async (key, signal) => {
    const batch = jobs.get(key)?.missing.slice(0, TEXTS_A_TURN) ?? []
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
    /** A list with all vectors that are known for it: those of the one that stands, and those that were made since. */
    complete(
      key: string,
      server: McpServer,
      catalog: ServerCatalog,
      standing?: ServerCatalog,
    ): ServerCatalog {
      const texts = searchTexts(knowledgeOf(server), catalog).slice(0, MAX_TEXTS)
      const made = jobs.get(key)?.made ?? new Map<string, Vector>()
      const known = new Map([...vectorsOf(standing?.vectors), ...made])
      const vectors = pick(texts, known)
      const missing = texts.filter(text => !vectors.has(text.key))
      jobs.set(key, { missing, made: pick(texts, made) })
      const { vectors: _, ...bare } = catalog
      return vectors.size === 0 ? bare : { ...bare, vectors: packVectors(ENCODER_ID, vectors) }
    },
    /** What was completed last stands in the cluster: what is missing still is made from now on. */
    published(key: string): void {
      if (jobs.get(key)?.missing.length === 0 || model.isAbsent()) jobs.delete(key)
      else queue.add(key)
    },
    /** Whether vectors were made that do not stand in the cluster yet. */
    isDone(key: string): boolean {
      return jobs.get(key)?.missing.length === 0
    },
    /** The server is gone. */
    forget(key: string): void {
      jobs.delete(key)
    },
    close: model.close,
  }
}

/** Loaded when it is needed; one that is not there is not looked for again, for an image does not change. */
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
    /** In the order of the texts; undefined where there is no model. One call at a time. Throws Fault `unavailable`. */
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

/** As `resolve` tells routers, who make the same texts of it. */
function knowledgeOf({ metadata: { name }, spec }: McpServer): ServerKnowledge {
  const { title, description, category, keywords, tools } = spec
  return { name, title, description, category, keywords, tools }
}

/** Those of another encoder say nothing. */
function vectorsOf(vectors: CatalogVectors | undefined): ReadonlyMap<string, Vector> {
  return vectors?.encoder === ENCODER_ID ? unpackVectors(vectors) : new Map()
}

function pick(texts: readonly SearchText[], vectors: ReadonlyMap<string, Vector>): Map<string, Vector> {
  return new Map(
    texts.flatMap(({ key }) => {
      const vector = vectors.get(key)
      return vector ? [[key, vector] as const] : []
    }),
  )
}
