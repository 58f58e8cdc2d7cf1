/** Scratch memory in which the scores of one query are added up; made once for an index, used by one query after the other. Pure. */
import { impactOf } from './postings.ts'

export type Accumulator = {
  /** Score by document, 0 for what was not met. */
  readonly scores: Float64Array
  /** The documents that were met, in no order. A view: the next query overwrites it. */
  hits(): Int32Array
  best(): number
  reset(): void
  /** Offers the documents of a postings list a score for the current word of the query: the best offer counts. */
  offer(lists: readonly (readonly number[] | undefined)[], worth: number): void
  /** Ends the current word: adds every document's best offer, times `factor`, to its score. */
  settle(factor: number): void
  /** Forgets the documents that `visible` refuses. */
  keep(visible: (document: number) => boolean): void
}

export function createAccumulator(size: number): Accumulator {
  const scores = new Float64Array(size)
  const hits = new Int32Array(size)
  let hitCount = 0
  /** Best offer for the current word by document, 0 for none. */
  const offers = new Float64Array(size)
  const offered = new Int32Array(size)
  let offeredCount = 0
  return {
    scores,
    hits: () => hits.subarray(0, hitCount),
    best() {
      let best = 0
      for (let at = 0; at < hitCount; at++) best = Math.max(best, scores[hits[at] as number] as number)
      return best
    },
    reset() {
      scores.fill(0)
      hitCount = 0
    },
    offer(lists, worth) {
      for (let step = 0; step < lists.length; step++) {
        const score = worth * impactOf(step)
        for (const document of lists[step] ?? []) {
          const before = offers[document] as number
          if (before === 0) offered[offeredCount++] = document
          if (score > before) offers[document] = score
        }
      }
    },
    settle(factor) {
      for (let at = 0; at < offeredCount; at++) {
        const document = offered[at] as number
        if (scores[document] === 0) hits[hitCount++] = document
        scores[document] = (scores[document] as number) + factor * (offers[document] as number)
        offers[document] = 0
      }
      offeredCount = 0
    },
    keep(visible) {
      let kept = 0
      for (let at = 0; at < hitCount; at++) {
        const document = hits[at] as number
        if (visible(document)) hits[kept++] = document
        else scores[document] = 0
      }
      hitCount = kept
    },
  }
}
