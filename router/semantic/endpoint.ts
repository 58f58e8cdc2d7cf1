/** A sentence encoder that calls an embeddings service: in batches, with limits, and with pauses while the service is down. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import type { SearchText } from '../../core/catalog/search-text.ts'
import { blend, quantize, type Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { VectorCache } from '../../core/encoder/vector-cache.ts'
import { Fault } from '../../core/errors.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import { connectEmbeddings, type EmbeddingsAddress, type EmbeddingsService } from './embeddings-service.ts'

export const QUERY_TIMEOUT_MS = 1_000
const DOCUMENTS_TIMEOUT_MS = 30_000
/** Text sent to check that the service is up and to learn the dimensions of its vectors. */
const GREETING = 'portolan'
const GREETING_TIMEOUT_MS = 10_000
/** Parsing an answer with more texts would block the event loop too long. */
const MAX_TEXTS = 32
const MAX_TEXT_BYTES = 32 * 1024
const CONCURRENCY = 2
const MAX_UNRETURNED = 1_000
const FAILURES_TO_PAUSE = 3
const PAUSE_MS = 10_000

/** Opens the disk cache of one encoder's vectors. */
export type OpenCache = (encoder: string, dimensions: number) => Promise<VectorCache>

export type EndpointOptions = EmbeddingsAddress & {
  clock: Clock
  /** Which addresses the service may have. Absent: any. */
  hosts?: HostGuard
  openCache?: OpenCache
  /** Called when the service's vectors have other dimensions than before: it is now another encoder and must be opened again. */
  onOther: () => void
}

/** Sends one request to the service. Throws Fault `unavailable` if it does not answer with a vector. */
export async function openEndpoint(options: EndpointOptions, signal: AbortSignal): Promise<SentenceEncoder> {
  const { url, model, clock, openCache } = options
  const service = connectEmbeddings(options, clock, options.hosts)
  try {
    const [greeting = []] = await service.embed([GREETING], GREETING_TIMEOUT_MS, signal)
    const address = createHash('sha256')
      .update(JSON.stringify([url, model]))
      .digest('hex')
    const id = `endpoint:${address.slice(0, 16)}/${greeting.length}`
    return encoderOf(id, service, greeting.length, options, await openCache?.(id, greeting.length))
  } catch (error) {
    await service.close()
    throw error
  }
}

function encoderOf(
  id: string,
  service: EmbeddingsService,
  dimensions: number,
  { clock, onOther }: EndpointOptions,
  cache: VectorCache | undefined,
): SentenceEncoder {
  const breaker = createBreaker(clock)
  const embed = embedding(service, dimensions, onOther)
  /** What was made by calls of `encodeTexts` that failed, for their repetition, which may be in smaller parts. */
  let unreturned = new Map<string, Vector>()

  async function encodeBatch(batch: readonly SearchText[], signal: AbortSignal) {
    const inputs = batch.flatMap(({ full, name }) => [full, name])
    const vectors = await embed(inputs, DOCUMENTS_TIMEOUT_MS, signal)
    breaker.passed()
    return batch.map(({ key }, at) => {
      const vector = blend(vectors[2 * at] as number[], vectors[2 * at + 1] as number[])
      cache?.put(key, vector)
      return [key, vector] as const
    })
  }

  return {
    id,
    async encodeQuery(text, signal) {
      breaker.enter()
      try {
        const [vector = []] = await embed([text], QUERY_TIMEOUT_MS, signal)
        breaker.passed()
        return quantize(vector)
      } catch (error) {
        if (!signal?.aborted) breaker.failed(error)
        throw error
      }
    },
    async encodeTexts(texts, signal) {
      const kept = texts.map(({ key }) => [key, cache?.get(key) ?? unreturned.get(key)] as const)
      const made = new Map(kept.filter((entry): entry is [string, Vector] => entry[1] !== undefined))
      const batches = batchesOf(texts.filter(({ key }) => !made.has(key)))
      try {
        await forEachBatch(batches, signal, async (batch, either) => {
          for (const [key, vector] of await encodeBatch(batch, either)) made.set(key, vector)
        })
      } catch (error) {
        unreturned = new Map([...unreturned, ...made].slice(-MAX_UNRETURNED))
        throw error
      }
      for (const { key } of texts) unreturned.delete(key)
      return texts.map(({ key }) => made.get(key) as Vector)
    },
    async close() {
      await Promise.all([service.close(), cache?.close()])
    },
  }
}

/** Calls `onOther` and throws a Fault if the vectors have other dimensions. */
function embedding(service: EmbeddingsService, dimensions: number, onOther: () => void) {
  return async (...asked: Parameters<EmbeddingsService['embed']>): Promise<number[][]> => {
    const vectors = await service.embed(...asked)
    if (vectors[0]?.length === dimensions) return vectors
    onOther()
    throw new Fault(
      'invalid_data',
      `The embeddings service now answers with vectors of dimensions other than ${dimensions}`,
    )
  }
}

/** Encodes CONCURRENCY batches at a time. If one fails, cancels the others, and rejects when they have ended. */
async function forEachBatch(
  batches: SearchText[][],
  signal: AbortSignal,
  encode: (batch: readonly SearchText[], signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController()
  const either = AbortSignal.any([signal, failed.signal])
  const work = async () => {
    for (let batch = batches.pop(); batch; batch = batches.pop()) await encode(batch, either)
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, () => work().catch(error => failed.abort(error))))
  failed.signal.throwIfAborted()
}

/** Fills batches one after another, each within the limits of one request. Each document is sent as two texts. */
function batchesOf(texts: readonly SearchText[]): SearchText[][] {
  const batches: SearchText[][] = []
  let room = { texts: 0, bytes: 0 }
  for (const text of texts) {
    const bytes = Buffer.byteLength(text.full) + Buffer.byteLength(text.name)
    if (room.texts < 2 || room.bytes < bytes) {
      batches.push([])
      room = { texts: MAX_TEXTS, bytes: MAX_TEXT_BYTES }
    }
    batches.at(-1)?.push(text)
    room = { texts: room.texts - 2, bytes: room.bytes - bytes }
  }
  return batches
}

/** A circuit breaker for queries, so that they do not wait for a service that is down: after several failures in a row, they fail at once for a while. */
function createBreaker(clock: Clock) {
  let failures = 0
  let pausedUntil = 0
  let last: unknown
  return {
    enter(): void {
      if (clock.elapsed() < pausedUntil) throw last
    },
    passed(): void {
      failures = pausedUntil = 0
    },
    failed(error: unknown): void {
      last = error
      if (++failures >= FAILURES_TO_PAUSE) pausedUntil = clock.elapsed() + PAUSE_MS
    },
  }
}
