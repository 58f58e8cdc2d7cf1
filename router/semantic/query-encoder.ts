/** Vectors of queries, in time or not at all: kept for who asks again, encoded once for many who ask at a time. */
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Vector } from '../../core/catalog/vectors.ts'
import type { SentenceEncoder } from '../../core/encoder/encoder.ts'
import type { QueryEncoder } from '../meta/meta-tool.ts'

/** Each some 500 bytes. */
const MAX_KEPT = 1_000
/** The last of them would come too late anyhow. */
const MAX_UNDER_WAY = 64

/** Why a search does without a vector. */
export type Missed = 'timeout' | 'busy' | 'failed'

export type QueryEncoderOptions = {
  encoder: Pick<SentenceEncoder, 'encodeQuery'>
  /** How long a search waits. */
  timeoutMs: number
  clock: Clock
  /** An encoding came to its end, whether or not somebody still waited. */
  onEncoded: (error?: unknown) => void
  /** A search got its vector, or why it did not. */
  onAnswered: (missed?: Missed) => void
}

export function createQueryEncoder(options: QueryEncoderOptions): QueryEncoder {
  const { encoder, timeoutMs, clock, onEncoded, onAnswered } = options
  const kept = new BoundedMap<Vector>(MAX_KEPT)
  const underWay = new Map<string, Promise<Vector | undefined>>()

  function keep(text: string, vector: Vector): Vector {
    kept.set(text, vector)
    return vector
  }

  /** Goes on when all who wait have left: the query is often asked again. */
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

/** What comes first: the value, the end of the time, or the caller's leaving. */
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
