/** From a query to its answer: combines the layers' scores, puts exact names first, and rates the first hit. Pure. */

import { absentProducts } from './absent-products.ts'
import { type Confidence, confidenceIn } from './confidence.ts'
import type { Corpus } from './corpus.ts'
import { type Features, readFeatures } from './features.ts'
import type { Lexicon } from './lexicon.ts'
import { NEARLY } from './names.ts'
import { type Query, readQuery } from './query.ts'
import { isRare } from './rare-words.ts'
import { createScorer, type Match, type Scratch } from './scorer.ts'
import type { SearchAnswer, SearchDocument, SearchHit, SearchOptions } from './search-index.ts'
import type { Translator } from './translate-query.ts'

/** A hit with a smaller share of the best score is weak. */
const MIN_SHARE = 0.4
/** Relevance of a tool whose name differs from the query by one letter. */
const NEARLY_RELEVANCE = 0.9
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

/** The answer with what `explain` needs. */
export type Ranked = SearchAnswer & {
  query: Query
  /** The documents that the query names, each with its exactness. */
  named: ReadonlyMap<number, number>
  match?: Match
  /** Absent without hits. */
  rated?: Rating
}

/** How much confidence the first hit deserves, and why. */
type Rating = { features: Features; confidence: Confidence }

export type Ranking = (text: string, options: SearchOptions) => Ranked

/** A view on `scratch`: the next query overwrites `match`. */
export function createRanking(
  corpus: Corpus,
  lexicon: Lexicon,
  translate: Translator,
  scratch: Scratch,
): Ranking {
  const score = createScorer(corpus, lexicon, scratch)
  const { documents, names, servers } = corpus
  const isProduct = (term: string) => isRare(term) && servers.count(term) > 0
  return (text, { limit, visible = () => true, meaning }) => {
    const query = readQuery(text, lexicon, translate, isProduct)
    if (!LETTER_OR_DIGIT.test(query.text)) return { query, named: new Map(), hits: [], total: 0 }
    const match = score(query, visible, meaning)
    const { hits, scores, best } = match
    const named = visibleOnly(names.named(query.text, hasUnknown(query, corpus)), visible)
    const unmatched = [...named.keys()].filter(document => scores[document] === 0)
    const compare = (a: number, b: number) =>
      (named.get(b) ?? 0) - (named.get(a) ?? 0) ||
      (scores[b] as number) - (scores[a] as number) ||
      compareNames(documents[a] as SearchDocument, documents[b] as SearchDocument) ||
      a - b
    const order = bestOf([unmatched, hits], limit, compare)
    const rated = order[0] === undefined ? undefined : ratingOf(corpus, query, match, order[0], scratch)
    const minScore =
      rated && rated.confidence.value >= rated.confidence.threshold ? MIN_SHARE * best : Infinity
    const isWeak = (document: number) => !((scores[document] as number) >= minScore)
    const toHit = (document: number): SearchHit => {
      const exactness = named.get(document) ?? 0
      if (exactness > NEARLY) return { document, relevance: 1, weak: false, exact: true }
      if (exactness === NEARLY) return { document, relevance: NEARLY_RELEVANCE, weak: false, exact: false }
      const share = best > 0 ? (scores[document] as number) / best : 0
      const relevance = (rated?.confidence.value ?? 0) * share
      return { document, relevance, weak: isWeak(document), exact: false }
    }
    const countStrong = (count: number, document: number) =>
      named.has(document) || isWeak(document) ? count : count + 1
    const total = hits.reduce(countStrong, named.size)
    const absent = order[0] === undefined ? [] : absentProducts(corpus, query, match.words.terms, order[0])
    const answer = { hits: order.map(toHit), total, ...(absent.length > 0 && { absent }) }
    return { query, named, match, rated, ...answer }
  }
}

function ratingOf(corpus: Corpus, query: Query, match: Match, first: number, { nearKinds }: Scratch): Rating {
  const features = readFeatures(corpus, query, match, first, nearKinds)
  return { features, confidence: confidenceIn(features, match.fused?.isPending ?? false) }
}

/** Whether the query has a term that no tool contains. */
function hasUnknown(query: Query, { tools }: Corpus): boolean {
  return query.terms.keys().some(term => tools.count(term) === 0)
}

function visibleOnly(
  named: ReadonlyMap<number, number>,
  visible: (document: number) => boolean,
): Map<number, number> {
  return new Map([...named].filter(([document]) => visible(document)))
}

/** The first `limit` of all candidates in the order of `compare`, without sorting the rest. */
function bestOf(
  candidates: readonly Iterable<number>[],
  limit: number,
  compare: (a: number, b: number) => number,
): number[] {
  const best: number[] = []
  for (const list of candidates)
    for (const candidate of list) {
      if (best.length >= limit && (limit <= 0 || compare(candidate, best[limit - 1] as number) >= 0)) continue
      if (best.length >= limit) best.pop()
      let at = best.length
      while (at > 0 && compare(candidate, best[at - 1] as number) < 0) at--
      best.splice(at, 0, candidate)
    }
  return best
}

function compareNames(a: SearchDocument, b: SearchDocument): number {
  if (a.tool !== b.tool) return a.tool < b.tool ? -1 : 1
  return a.server < b.server ? -1 : a.server > b.server ? 1 : 0
}
