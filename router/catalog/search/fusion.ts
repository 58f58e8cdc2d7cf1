/** Combines lexical and semantic scores: score = trust · lexical / best lexical + 0.85 · semantic. Pure. */
import type { LexicalMatch } from './lexical.ts'
import type { SearchOptions } from './search-index.ts'

/** The matches of one query by words and meaning. A view on scratch memory: the next query overwrites it. */
export type FusedMatch = {
  /** Visible documents that match the query, in no order. */
  hits: Int32Array
  /** Score by document. */
  scores: Float64Array
  /** Confidence that anything answers the query, 0 to 1. */
  confidence: number
  /** Weight of the lexical score. */
  trust: number
  range: SimilarityRange
  /** Similarities after smoothing, to which `range` applies. */
  nearness: Float32Array
}

/** The nearness that maps to 1, and the one that maps to 0. */
export type SimilarityRange = { best: number; least: number }

export type Fusion = (
  match: LexicalMatch,
  visible: (document: number) => boolean,
  meaning: NonNullable<SearchOptions['meaning']>,
) => FusedMatch

/** Weight of the semantic score. */
export const MEANING_WEIGHT = 0.85
/** If not even the best document covers this share of the query's weight, its words say little: `get` in "how warm does it get". */
const TRUSTED_COVER = 0.25
const LEAST_TRUST = 0.4
/** How many of the nearest documents match by meaning. */
const NEAREST = 50
/** Weight of the nearness of the server's other tools. */
const SERVER_NEARNESS = 0.3
/** Smoothing for servers with few tools: as if they had this many more tools of average nearness. */
const AVERAGE_TOOLS = 2
const SIMILARITY_CONFIDENCE = 0.7
const COVER_CONFIDENCE = 0.3

export function createFusion(serverOf: Int32Array, serverCount: number): Fusion {
  const size = serverOf.length
  const scores = new Float64Array(size)
  const hits = new Int32Array(size)
  const nearest = new Float64Array(NEAREST + 1)
  const nearnessOf = createNearness(serverOf, serverCount)
  return (match, visible, { query, documents }) => {
    const { nearness, bestSimilarity } = nearnessOf(documents.similarities(query), visible)
    const range = rangeOf(nearness, nearest)
    const trust = trustOf(match.cover)
    let count = 0
    for (let document = 0; document < size; document++) {
      const words = match.scores[document] as number
      scores[document] = 0
      if (words === 0 && !((nearness[document] as number) >= range.least)) continue
      const lexical = match.best > 0 ? (trust * words) / match.best : 0
      scores[document] = lexical + MEANING_WEIGHT * semanticOf(nearness[document] as number, lexical, range)
      hits[count++] = document
    }
    const sure = SIMILARITY_CONFIDENCE * Math.max(0, bestSimilarity) + COVER_CONFIDENCE * match.cover
    const confidence = documents.pending > 0 ? Math.max(sure, match.cover) : sure
    return { hits: hits.subarray(0, count), scores, confidence, trust, range, nearness }
  }
}

function trustOf(cover: number): number {
  return Math.min(1, LEAST_TRUST + ((1 - LEAST_TRUST) * cover) / TRUSTED_COVER)
}

/**
 * Maps nearness to 0 to 1. A document without a vector yet gets its lexical score: measured with a third of the vectors missing,
 * such tools are found nearly as well as the others, and those lose next to nothing.
 */
export function semanticOf(nearness: number, lexical: number, { best, least }: SimilarityRange): number {
  if (Number.isNaN(nearness)) return lexical
  if (nearness >= best) return 1
  return Math.max(0, (nearness - least) / (best - least))
}

type Nearness = (
  similarities: Float32Array,
  visible: (document: number) => boolean,
) => { nearness: Float32Array; bestSimilarity: number }

/** Similarity plus a share of the mean of the document's server; NaN for hidden documents and those without a vector. */
function createNearness(serverOf: Int32Array, serverCount: number): Nearness {
  const nearness = new Float32Array(serverOf.length)
  const sums = new Float64Array(serverCount)
  const counts = new Float64Array(serverCount)
  return (similarities, visible) => {
    sums.fill(0)
    counts.fill(0)
    let bestSimilarity = -1
    let total = 0
    let count = 0
    for (let document = 0; document < nearness.length; document++) {
      const similarity = similarities[document] as number
      const known = !Number.isNaN(similarity) && visible(document)
      nearness[document] = known ? similarity : Number.NaN
      if (!known) continue
      const server = serverOf[document] as number
      sums[server] = (sums[server] as number) + similarity
      counts[server] = (counts[server] as number) + 1
      total += similarity
      count++
      bestSimilarity = Math.max(bestSimilarity, similarity)
    }
    const average = total / (count || 1)
    const meanOf = (server: number) =>
      ((sums[server] as number) + AVERAGE_TOOLS * average) / ((counts[server] as number) + AVERAGE_TOOLS)
    for (let server = 0; server < serverCount; server++) sums[server] = SERVER_NEARNESS * meanOf(server)
    for (let document = 0; document < nearness.length; document++)
      nearness[document] = (nearness[document] as number) + (sums[serverOf[document] as number] as number)
    return { nearness, bestSimilarity }
  }
}

/** The best nearness, and that of the first document that is not among the nearest. */
function rangeOf(nearness: Float32Array, nearest: Float64Array): SimilarityRange {
  let count = 0
  for (let document = 0; document < nearness.length; document++) {
    const near = nearness[document] as number
    const full = count === nearest.length
    if (!(near > (full ? (nearest[count - 1] as number) : Number.NEGATIVE_INFINITY))) continue
    let at = full ? count - 1 : count++
    while (at > 0 && (nearest[at - 1] as number) < near) {
      nearest[at] = nearest[at - 1] as number
      at--
    }
    nearest[at] = near
  }
  return count === 0
    ? { best: 0, least: 0 }
    : { best: nearest[0] as number, least: nearest[count - 1] as number }
}
