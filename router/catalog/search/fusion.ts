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
  /** Weight of the lexical score. */
  trust: number
  range: SimilarityRange
  /** By document, NaN where it is not known. */
  similarities: Float32Array
  /** Mean of all similarities. */
  mean: number
  /** Their standard deviation. */
  spread: number
  /** How much nearer the nearest document is than every document of other servers. */
  lead: number
  /** Whether the similarities are of the encoder that confidence was learned with. */
  isFamiliar: boolean
  /** Whether some documents have no vector yet. */
  isPending: boolean
  /** The lexical score of a document as it was combined: of the best, 0 to `trust`. */
  lexical(document: number): number
}

/** For min-max normalization: the similarity that maps to 1, and the one that maps to 0. */
export type SimilarityRange = { max: number; min: number }

export type Fusion = (
  match: LexicalMatch,
  visible: (document: number) => boolean,
  meaning: NonNullable<SearchOptions['meaning']>,
) => FusedMatch

/** What joins words and meaning. */
export type FusionWeights = {
  /** Weight of the lexical score; the rest is that of the semantic one. */
  words: number
  /** What counts of the server's share in the lexical score: meaning finds servers too. */
  server: number
  /** So many standard deviations of all similarities below the nearest, similarity is worth nothing. */
  width: number
}

export const WEIGHTS: Readonly<FusionWeights> = learned.weights
/** If not even the best document covers this share of the query's weight, its words say little: `get` in "how warm does it get". */
const TRUSTED_COVERAGE = 0.25
const LEAST_TRUST = 0.4
/** How many of the nearest documents match by meaning. */
const NEAREST = 50
/** Smoothing of the spread for small catalogs: as if there were this many more tools that spread as usual. */
const USUAL_TOOLS = 20
const USUAL_SPREAD = 0.11

/** `serverOf`: by document. */
export function createFusion(serverOf: Int32Array): Fusion {
  const size = serverOf.length
  const scores = new Float64Array(size)
  const hits = new Int32Array(size)
  const nearestOnes = new Float64Array(NEAREST + 1)
  const readSimilarities = createReader(size)
  return (match, visible, { query, documents }) => {
    const { similarities, nearest, best, mean, spread } = readSimilarities(
      documents.similarities(query),
      visible,
    )
    const range = { max: best, min: best - WEIGHTS.width * spread }
    const threshold = Math.max(range.min, firstBeyond(similarities, nearestOnes))
    const trust = trustOf(match.coverage)
    const lexicalOf = (document: number): number => {
      if (match.best === 0) return 0
      const own = match.scores[document] as number
      const less = Number.isNaN(similarities[document])
        ? 0
        : (1 - WEIGHTS.server) * match.serverScore(document)
      return (trust * Math.max(0, own - less)) / match.best
    }
    let count = 0
    for (let document = 0; document < size; document++) {
      const words = match.scores[document] as number
      scores[document] = 0
      if (words === 0 && !((similarities[document] as number) > threshold)) continue
      const lexical = words === 0 ? 0 : lexicalOf(document)
      scores[document] = joined(
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
      trust,
      range,
      similarities,
      mean,
      spread,
      lead: best - bestElsewhere(similarities, serverOf, nearest),
      isFamiliar: documents.isFamiliar,
      isPending: documents.pending > 0,
      lexical: lexicalOf,
    }
  }
}

/** The score of a document before the action counts. */
export function joined(lexical: number, semantic: number, { words }: FusionWeights): number {
  return words * lexical + (1 - words) * semantic
}

/** Weight of the lexical score by the share of the query's weight that the best document covers. */
export function trustOf(coverage: number): number {
  return Math.min(1, LEAST_TRUST + ((1 - LEAST_TRUST) * coverage) / TRUSTED_COVERAGE)
}

/**
 * Maps similarity to 0 to 1. A document without a vector yet gets its lexical score: measured with a third of the vectors missing,
 * such tools are found nearly as well as the others, and those lose next to nothing.
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
  /** Standard deviation. */
  spread: number
}

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
    const deviations = Math.max(0, squares - (sum * sum) / (count || 1))
    const spread = Math.sqrt((deviations + USUAL_TOOLS * USUAL_SPREAD ** 2) / (count + USUAL_TOOLS))
    return { similarities: seen, nearest, best, mean: sum / (count || 1), spread }
  }
}

/** The similarity of the nearest document of another server than that of `nearest`; that of nothing, 0, if there is none. */
function bestElsewhere(similarities: Float32Array, serverOf: Int32Array, nearest: number): number {
  const server = serverOf[nearest]
  let best = 0
  for (let document = 0; document < similarities.length; document++)
    if ((similarities[document] as number) > best && serverOf[document] !== server)
      best = similarities[document] as number
  return best
}

/** The similarity of the first document that is not among the nearest; infinitely small if there is none. */
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
