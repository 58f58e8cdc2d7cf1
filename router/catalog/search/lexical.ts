/** The lexical layer: scores how well each tool matches the words of a query. Pure. */
import type { Accumulator } from './accumulator.ts'
import type { Corpus } from './corpus.ts'
import type { Lexicon } from './lexicon.ts'
import { documentOf, impactOf, inverseFrequency, type TermLists } from './postings.ts'
import type { Query } from './query.ts'
import { isPlural, stem } from './text.ts'

/** The matches of one query. A view on scratch memory: the next query overwrites it. */
export type LexicalMatch = {
  /** Visible documents that match some word of the query, in no order. */
  hits: Int32Array
  /** Score by document. */
  scores: Float64Array
  /** The best score. */
  best: number
  /** Share of the query's weight that the best document covers, 0 to 1. */
  coverage: number
  terms: readonly WeightedTerm[]
  /** The part of a document's score that comes from its server. */
  serverScore(document: number): number
}

/** A term of a query. */
export type WeightedTerm = {
  term: string
  /** How often it occurs in the query. */
  count: number
  /** Terms of documents that match it, itself included, each with its weight. */
  alternatives: ReadonlyMap<string, number>
  /** The score of a full match, by the inverse document frequency. */
  weight: number
  /** Whether some document contains one of the alternatives. */
  isKnown: boolean
}

export type LexicalScorer = (query: Query, visible: (document: number) => boolean) => LexicalMatch

/** Weight of the English words for a word of another language. */
const TRANSLATION_WEIGHT = 0.8
/** Factor on the weights of the neighbours of a word that no tool contains: it is not a typing error, but means one of them. */
const SUBSTITUTE_FACTOR = 1.5
const MAX_SUBSTITUTE_WEIGHT = 0.8
/** What the best server adds to the scores of its tools, as a share of the best score. */
const SERVER_PRIOR = 0.4
/** How much a fully covered name raises a document's lexical score. */
const NAME_COVERAGE = 0.15

/** `found`, by document, and `serverScores`, by server, are scratch memory. */
export function createLexicalScorer(
  corpus: Corpus,
  lexicon: Lexicon,
  found: Accumulator,
  serverScores: Float64Array,
): LexicalScorer {
  const { tools, size, nameCoverage } = corpus
  return (query, visible) => {
    found.reset()
    nameCoverage.reset()
    let totalWeight = 0
    const terms: WeightedTerm[] = []
    for (const [term, { count, word }] of query.terms) {
      const { alternatives, cap } = alternativesOf(corpus, lexicon, term, word, query.foreign.get(term))
      for (const [other, share] of alternatives) nameCoverage.addTerm(other, share)
      nameCoverage.addNumber(term, isPlural(word))
      const maxWeight = addTerm(found, tools, size, alternatives, cap)
      const weight = maxWeight || Math.log(1 + size)
      terms.push({ term, count, alternatives, weight, isKnown: maxWeight > 0 })
      totalWeight += count * weight
      found.settle(count)
    }
    for (const [pair, weight] of query.pairs) addPair(found, tools, size, pair, weight)
    found.keep(visible)
    for (const document of found.hits())
      found.scores[document] = (found.scores[document] as number) * nameFactor(corpus, document)
    const serverScore = addServerPrior(found, corpus, serverScores, query)
    const best = found.best()
    const coverage = totalWeight > 0 ? Math.min(1, best / totalWeight) : 0
    return { hits: found.hits(), scores: found.scores, best, coverage, terms, serverScore }
  }
}

/** The factor on a document's lexical score by how much of its name the query covers. */
export function nameFactor({ nameCoverage }: Corpus, document: number): number {
  return 1 + NAME_COVERAGE * nameCoverage.of(document)
}

/** The score of a full match of a term. `rarity`: its inverse document frequency, at most that of the term that it stands for (`cap`; 0: no limit). */
export function termWeight(weight: number, rarity: number, cap: number): number {
  return weight * (cap > 0 ? Math.min(rarity, cap) : rarity)
}

/** Scores every document by the best of a term's alternatives that it contains. Returns the score of a full match of the best one; 0 if no document contains any. */
function addTerm(
  found: Accumulator,
  tools: TermLists,
  size: number,
  alternatives: ReadonlyMap<string, number>,
  cap: number,
): number {
  let max = 0
  for (const [term, weight] of alternatives) {
    const rarity = inverseFrequency(tools.count(term), size)
    if (rarity === 0) continue
    const full = termWeight(weight, rarity, cap)
    max = Math.max(max, full)
    found.offer(tools.of(term), full)
  }
  return max
}

/** Scores documents that contain two words as one. The index has the joined form of compounds unstemmed, and that of words stemmed. */
function addPair(found: Accumulator, tools: TermLists, size: number, joined: string, weight: number): void {
  for (const form of new Set([joined, stem(joined)]))
    found.offer(tools.of(form), inverseFrequency(tools.count(form), size))
  found.settle(weight)
}

/** Adds a share of the best score to tools of the servers that the query is about. Returns what was added to each. */
function addServerPrior(
  found: Accumulator,
  corpus: Corpus,
  serverScores: Float64Array,
  query: Query,
): LexicalMatch['serverScore'] {
  const { servers, serverOf, serverCount } = corpus
  serverScores.fill(0)
  for (const [term, { count }] of query.terms) {
    const weight = count * inverseFrequency(servers.count(term), serverCount)
    for (const posting of servers.of(term)) {
      const server = documentOf(posting)
      serverScores[server] = (serverScores[server] as number) + weight * impactOf(posting)
    }
  }
  const scoreOf = (document: number) => serverScores[serverOf[document] as number] as number
  let max = 0
  for (const document of found.hits()) max = Math.max(max, scoreOf(document))
  if (max === 0) return () => 0
  const share = (SERVER_PRIOR * found.best()) / max
  for (const document of found.hits())
    found.scores[document] = (found.scores[document] as number) + share * scoreOf(document)
  return document => share * scoreOf(document)
}

/** The terms that may stand for a query's term, each with its weight, and the cap on their rarity. `word`: the term as written; `foreign`: its English stems, if it is of another language. */
export function alternativesOf(
  { tools, spelling, size }: Corpus,
  lexicon: Lexicon,
  term: string,
  word: string,
  foreign: readonly string[] | undefined,
): { alternatives: Map<string, number>; cap: number } {
  const alternatives = new Map<string, number>([[term, 1]])
  const offer = (other: string, weight: number) =>
    alternatives.set(other, Math.max(alternatives.get(other) ?? 0, weight))
  const neighbours = lexicon.neighbours(term) ?? []
  for (const [other, weight] of neighbours) offer(other, weight)
  for (const other of foreign ?? []) alternatives.set(other, TRANSLATION_WEIGHT)
  const count = tools.count(term)
  if (count > 0 || foreign) return { alternatives, cap: foreign ? 0 : inverseFrequency(count, size) }
  const substitutes = [...neighbours].filter(([other]) => tools.count(other) > 0)
  for (const [other, weight] of substitutes)
    offer(other, Math.min(MAX_SUBSTITUTE_WEIGHT, SUBSTITUTE_FACTOR * weight))
  if (substitutes.length > 0) return { alternatives, cap: 0 }
  let cap = 0
  for (const [other, weight] of spelling(word)) {
    offer(other, weight)
    for (const [neighbour, share] of lexicon.neighbours(other) ?? []) offer(neighbour, weight * share)
    cap ||= inverseFrequency(tools.count(other), size)
  }
  return { alternatives, cap }
}
