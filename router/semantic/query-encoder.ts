/** Encodes queries within a time limit; caches vectors, and encodes equal queries in flight once. */
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'

/** Each takes some 500 bytes. */
const MAX_KEPT = 1_000
/** With more in flight, the last would be too late anyway. */
const MAX_UNDER_WAY = 64

/** Why a search has no vector. */
export type Missed = 'timeout' | 'busy' | 'failed'

export type QueryEncoderOptions = {
  encoder: Pick<SentenceEncoder, 'encodeQuery'>
  /** How long a search waits. */
  timeoutMs: number
  clock: Clock
  /** Called when an encoding ended, even if no search still waited for it. */
  onEncoded: (error?: unknown) => void
  /** Called when a search got its vector, or with the reason why it did not. */
  onAnswered: (missed?: Missed) => void
}

/** Returns a function that resolves with undefined if there is no vector in time or the caller leaves. It never rejects. */
export function createQueryEncoder(options: QueryEncoderOptions): QueryEncoder {
  const { encoder, timeoutMs, clock, onEncoded, onAnswered } = options
  const kept = new BoundedMap<Vector>(MAX_KEPT)
  const underWay = new Map<string, Promise<Vector | undefined>>()

  /** Makes the vector the newest in the cache. */
  function keep(text: string, vector: Vector): Vector {
    kept.set(text, vector)
    return vector
  }

  /** Begins an encoding. It continues after all callers have left, since the query is often repeated. */
  function begin(text: string): Promise<Vector | undefined> {
    const encoding = encoder
      .encodeQuery(text)
      .then(
        vector => {
          onEncoded()
          return keep(text, vector)
        },
        error => {
          onEncoded(error)
          return undefined
        },
      )
      .finally(() => underWay.delete(text))
    underWay.set(text, encoding)
    return encoding
  }

  return async (text, signal) => {
    const known = kept.get(text)
    if (known) return keep(text, known)
    const started = underWay.get(text)
    if (!started && underWay.size >= MAX_UNDER_WAY) {
      onAnswered('busy')
      return undefined
    }
    const found = await inTime(started ?? begin(text), timeoutMs, clock, signal)
    if (found === 'left') return undefined
    if (found === 'timeout' || found === undefined) {
      onAnswered(found ?? 'failed')
      return undefined
    }
    onAnswered()
    return found
  }
}

/** Whichever comes first: the value, the timeout, or the caller's cancellation. */
function inTime<T>(
  work: Promise<T>,
  ms: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | 'timeout' | 'left'> {
  return new Promise(resolve => {
    const timer = clock.after(ms, () => end('timeout'))
    const leave = () => end('left')
    const end = (found: T | 'timeout' | 'left') => {
      timer.cancel()
      signal.removeEventListener('abort', leave)
      resolve(found)
    }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    void work.then(end)
  })
}
