/** Combines lexical and semantic scores with learned weights (scripts/training/fusion.ts). Pure. */
import type { Vector } from '../../../core/catalog/vectors.ts'
import learned from './data/fusion.json' with { type: 'json' }
import type { LexicalMatch } from './lexical.ts'
import type { SearchOptions } from './search-index.ts'

/** The matches of one query by words and meaning. A view on scratch memory: the next query overwrites it. */
export type FusedMatch = {
  query: Vector
  /** Visible documents that match the query, in no order. */
  hits: Int32Array
  /** Score by document. */
  scores: Float64Array
  /** Factor on the lexical scores; see `lexicalScale`. */
  lexicalScale: number
  range: SimilarityRange
  /** By document, NaN where it is not known. */
  similarities: Float32Array
  /** Mean of all similarities. */
  mean: number
  /** Their standard deviation. */
  standardDeviation: number
  /** The greatest similarity minus the greatest one of other servers' documents. */
  margin: number
  /** Whether the similarities are of the encoder that confidence was learned with. */
  isFamiliar: boolean
  /** Whether some documents have no vector yet. */
  isPending: boolean
  /** The lexical score of a document as it was combined: divided by the best, 0 to `lexicalScale`. */
  lexical(document: number): number
}

/** For min-max normalization: the similarity that maps to 1, and the one that maps to 0. */
export type SimilarityRange = { max: number; min: number }

export type Fusion = (
  match: LexicalMatch,
  visible: (document: number) => boolean,
  meaning: NonNullable<SearchOptions['meaning']>,
) => FusedMatch

/** How words and meaning are combined. */
export type FusionWeights = {
  /** Weight of the lexical score; the rest is that of the semantic one. */
  words: number
  /** Factor on the server's share of the lexical score, which is below 1 because meaning finds servers too. */
  server: number
  /** A similarity that is this many standard deviations below the greatest one maps to 0. */
  width: number
}

export const WEIGHTS: Readonly<FusionWeights> = learned.weights
/** If not even the best document covers this share of the query's weight, its words say little: `get` in "how warm does it get". Lexical scores are then scaled down. */
const FULL_SCALE_COVERAGE = 0.25
const MIN_LEXICAL_SCALE = 0.4
/** How many of the nearest documents match by meaning. */
const NEAREST = 50
/** Smoothing of the standard deviation for small catalogs: as if there were this many more tools, with this standard deviation. */
const PRIOR_TOOLS = 20
const PRIOR_DEVIATION = 0.11

/** `serverOf`: by document, the number of its server. Allocates the scratch memory that matches are views on. */
export function createFusion(serverOf: Int32Array): Fusion {
  const size = serverOf.length
  const scores = new Float64Array(size)
  const hits = new Int32Array(size)
  const nearestSimilarities = new Float64Array(NEAREST + 1)
  const readSimilarities = createReader(size)
  return (match, visible, { query, documents }) => {
    const { similarities, nearest, best, mean, standardDeviation } = readSimilarities(
      documents.similarities(query),
      visible,
    )
    const range = { max: best, min: best - WEIGHTS.width * standardDeviation }
    const threshold = Math.max(range.min, firstBeyond(similarities, nearestSimilarities))
    const scale = lexicalScale(match.coverage)
    const lexicalOf = (document: number): number => {
      if (match.best === 0) return 0
      const score = match.scores[document] as number
      const reduction = Number.isNaN(similarities[document])
        ? 0
        : (1 - WEIGHTS.server) * match.serverScore(document)
      return (scale * Math.max(0, score - reduction)) / match.best
    }
    let count = 0
    for (let document = 0; document < size; document++) {
      const words = match.scores[document] as number
      scores[document] = 0
      if (words === 0 && !((similarities[document] as number) > threshold)) continue
      const lexical = words === 0 ? 0 : lexicalOf(document)
      scores[document] = combinedScore(
        lexical,
        semanticOf(similarities[document] as number, lexical, range),
        WEIGHTS,
      )
      hits[count++] = document
    }
    return {
      query,
      hits: hits.subarray(0, count),
      scores,
      lexicalScale: scale,
      range,
      similarities,
      mean,
      standardDeviation,
      margin: best - bestElsewhere(similarities, serverOf, nearest),
      isFamiliar: documents.isFamiliar,
      isPending: documents.pending > 0,
      lexical: lexicalOf,
    }
  }
}

/** The weighted sum of a document's lexical and semantic score, before the factor for its action. */
export function combinedScore(lexical: number, semantic: number, { words }: FusionWeights): number {
  return words * lexical + (1 - words) * semantic
}

/** Factor on all lexical scores, by the share of the query's weight that the best document covers. */
export function lexicalScale(coverage: number): number {
  return Math.min(1, MIN_LEXICAL_SCALE + ((1 - MIN_LEXICAL_SCALE) * coverage) / FULL_SCALE_COVERAGE)
}

/**
 * Maps a similarity to 0 to 1. A document without a vector yet gets its lexical score: in a measurement with a third of the vectors
 * missing, such tools were found nearly as well as the others, and the others hardly worse than with all vectors.
 */
export function semanticOf(similarity: number, lexical: number, { max, min }: SimilarityRange): number {
  if (Number.isNaN(similarity)) return lexical
  if (similarity >= max) return 1
  return Math.max(0, (similarity - min) / (max - min))
}

type Similarities = {
  /** By document; NaN for hidden ones and those without a vector. */
  similarities: Float32Array
  /** The nearest document, -1 if there is none, and its similarity. */
  nearest: number
  best: number
  mean: number
  standardDeviation: number
}

/** Returns a function that computes the statistics of the visible documents. Its next call overwrites `similarities`. */
function createReader(
  size: number,
): (similarities: Float32Array, visible: (document: number) => boolean) => Similarities {
  const seen = new Float32Array(size)
  return (similarities, visible) => {
    let best = -1
    let nearest = -1
    let sum = 0
    let squares = 0
    let count = 0
    for (let document = 0; document < size; document++) {
      const similarity = similarities[document] as number
      const known = !Number.isNaN(similarity) && visible(document)
      seen[document] = known ? similarity : Number.NaN
      if (!known) continue
      sum += similarity
      squares += similarity * similarity
      count++
      if (nearest >= 0 && similarity <= best) continue
      best = similarity
      nearest = document
    }
    const squaredDeviations = Math.max(0, squares - (sum * sum) / (count || 1))
    const standardDeviation = Math.sqrt(
      (squaredDeviations + PRIOR_TOOLS * PRIOR_DEVIATION ** 2) / (count + PRIOR_TOOLS),
    )
    return { similarities: seen, nearest, best, mean: sum / (count || 1), standardDeviation }
  }
}

/** The greatest similarity among the documents of other servers than that of `nearest`; 0 if there is none above 0. */
function bestElsewhere(similarities: Float32Array, serverOf: Int32Array, nearest: number): number {
  const server = serverOf[nearest]
  let best = 0
  for (let document = 0; document < similarities.length; document++)
    if ((similarities[document] as number) > best && serverOf[document] !== server)
      best = similarities[document] as number
  return best
}

/** The similarity of the first document after the `NEAREST` nearest; minus infinity if there is none. `nearest`: scratch memory. */
function firstBeyond(similarities: Float32Array, nearest: Float64Array): number {
  let count = 0
  for (let document = 0; document < similarities.length; document++) {
    const near = similarities[document] as number
    const full = count === nearest.length
    if (!(near > (full ? (nearest[count - 1] as number) : Number.NEGATIVE_INFINITY))) continue
    let at = full ? count - 1 : count++
    while (at > 0 && (nearest[at - 1] as number) < near) {
      nearest[at] = nearest[at - 1] as number
      at--
    }
    nearest[at] = near
  }
  return count === nearest.length ? (nearest[count - 1] as number) : Number.NEGATIVE_INFINITY
}
