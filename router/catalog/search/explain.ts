/** Explains a search: runs the same ranking and breaks down the score of each hit. Pure. */
import { effectsOf } from './confidence.ts'
import type { Corpus } from './corpus.ts'
import { FIELDS } from './fields.ts'
import { semanticOf } from './fusion.ts'
import { alternativesOf, nameFactor, termWeight } from './lexical.ts'
import type { Lexicon } from './lexicon.ts'
import { exactnessName } from './names.ts'
import { documentOf, impactOf, inverseFrequency } from './postings.ts'
import type { Query } from './query.ts'
import type { Ranked, Ranking } from './ranking.ts'
import { type Match, siblingFactor } from './scorer.ts'
import type {
  ExplainedHit,
  ExplainedTerm,
  Explanation,
  SearchDocument,
  SearchHit,
  SearchOptions,
} from './search-index.ts'

type CappedTerm = ExplainedTerm & { cap: number }

/** Returns the function `explain` of a search index. `rank`: the ranking of its `search`. */
export function createExplain(
  corpus: Corpus,
  lexicon: Lexicon,
  rank: Ranking,
): (text: string, options: SearchOptions) => Explanation {
  return (text, options) => {
    const ranked = rank(text, options)
    const { query, match, rated, hits, total } = ranked
    const terms = explainTerms(query, corpus, lexicon)
    const range = match?.fused?.range
    return {
      query: query.text,
      ...(query.english !== undefined && { english: query.english }),
      terms: terms.map(({ cap: _, ...term }) => term),
      actions: lexicon.classNames(query.intent.classes),
      coverage: match?.words.coverage ?? 0,
      ...(rated && { confidence: explainRating(rated) }),
      ...(range && { similarity: range }),
      ...(options.meaning && { pending: options.meaning.documents.pending }),
      hits: match ? hits.map(hit => explainHit(hit, { corpus, lexicon, terms, ranked, match })) : [],
      total,
    }
  }
}

function explainRating({ features, confidence }: NonNullable<Ranked['rated']>): Explanation['confidence'] {
  const { value, threshold } = confidence
  return { value, threshold, features: effectsOf(confidence, features) }
}

function explainTerms(query: Query, corpus: Corpus, lexicon: Lexicon): CappedTerm[] {
  const { size } = corpus
  const alternative = ([term, weight]: [string, number]) => {
    const documents = corpus.tools.count(term)
    return { term, weight, documents, rarity: inverseFrequency(documents, size) }
  }
  const terms = query.terms.entries().map(([term, { count, word }]): CappedTerm => {
    const { alternatives, cap } = alternativesOf(corpus, lexicon, term, word, query.foreign.get(term))
    const known = [...alternatives].map(alternative).filter(({ documents }) => documents > 0)
    return { term, word, count, cap, alternatives: known.sort((a, b) => b.weight - a.weight) }
  })
  const pairs = query.pairs
    .entries()
    .map(
      ([pair, count]): CappedTerm => ({
        term: pair,
        word: pair,
        count,
        cap: 0,
        alternatives: [alternative([pair, 1])],
      }),
    )
    .filter(({ alternatives }) => (alternatives[0]?.documents ?? 0) > 0)
  return [...terms, ...pairs]
}

type Context = {
  corpus: Corpus
  lexicon: Lexicon
  terms: readonly CappedTerm[]
  ranked: Ranked
  match: Match
}

function explainHit({ document, relevance, weak }: SearchHit, context: Context): ExplainedHit {
  const { corpus, lexicon, terms, ranked, match } = context
  const { server, tool, kind } = corpus.documents[document] as SearchDocument
  const matched = terms.map(term => bestOf(term, document, corpus)).filter(part => part.score > 0)
  const sibling = siblingFactor(ranked.query, document, corpus, lexicon)
  const factor = nameFactor(corpus, document)
  const score = match.scores[document] as number
  const words = match.fused ? (match.words.scores[document] as number) : score / sibling
  const lexicalAlone = match.words.best > 0 ? words / match.words.best : 0
  const lexical = match.fused?.lexical(document) ?? lexicalAlone
  const ownScore = matched.reduce((sum, part) => sum + part.score, 0) * factor
  const named = ranked.named.get(document)
  return {
    server,
    tool,
    ...(kind && { kind }),
    relevance,
    weak,
    ...(named !== undefined && { named: exactnessName(named) }),
    matched,
    nameFactor: factor,
    serverScore: Math.max(0, words - ownScore),
    lexical,
    ...meaningOf(document, lexical, match),
    actionFactor: sibling,
    score,
  }
}

function meaningOf(
  document: number,
  lexical: number,
  { fused }: Match,
): Pick<ExplainedHit, 'cosine' | 'semantic'> {
  if (!fused) return {}
  const cosine = fused.similarities[document] as number
  const semantic = semanticOf(cosine, lexical, fused.range)
  return Number.isNaN(cosine) ? { semantic } : { cosine, semantic }
}

/** The alternative by which a document matched a term best, and its score. */
function bestOf({ term, count, cap, alternatives }: CappedTerm, document: number, corpus: Corpus) {
  let best = { term, by: term, score: 0 }
  for (const { term: by, weight, rarity } of alternatives) {
    const posting = corpus.tools.of(by).find(posting => documentOf(posting) === document)
    const score = posting === undefined ? 0 : count * termWeight(weight, rarity, cap) * impactOf(posting)
    if (score > best.score) best = { term, by, score }
  }
  const fields = FIELDS.filter(field => corpus.fields[document]?.[field].includes(best.by))
  return { ...best, fields }
}
