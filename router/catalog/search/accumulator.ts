/** Scratch memory in which the scores of one query are added up; made once for an index, used by one query after the other. Pure. */
import { documentOf, impactOf } from './postings.ts'

export type Accumulator = {
  /** Score by document, 0 for those that do not match. */
  readonly scores: Float64Array
  /** The documents that match, in no order. A view: the next query overwrites it. */
  hits(): Int32Array
  /** The greatest score; 0 without hits. */
  best(): number
  /** Begins a new query. */
  reset(): void
  /** Offers the documents of a term a score for the current word of the query, its weight times the term's impact: the best offer counts. */
  offer(postings: Uint32Array, weight: number): void
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
    offer(postings, weight) {
      for (const posting of postings) {
        const document = documentOf(posting)
        const score = weight * impactOf(posting)
        const before = offers[document] as number
        if (before === 0) offered[offeredCount++] = document
        if (score > before) offers[document] = score
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
