/** A query as the index reads it: its terms, their alternatives, and the action it asks for. Pure. */
import { cut } from '../../../core/cut.ts'
import { type Intent, intentOf } from './intent.ts'
import type { Lexicon } from './lexicon.ts'
import { type ProductPlaces, productPlaces } from './product-places.ts'
import { MAX_QUERY_CHARACTERS, MAX_QUERY_WORDS } from './query-limits.ts'
import { isStopword, stem, type Word, wordsOf } from './text.ts'
import type { Translation, Translator } from './translate-query.ts'

export type Query = {
  text: string
  /** The English translation, if the query is in another language. */
  english?: string
  /** Every term once: how often it occurs in the query, and its first word as written. */
  terms: ReadonlyMap<string, QueryTerm>
  /** English stems for a term of another language. */
  foreign: ReadonlyMap<string, readonly string[]>
  /** Adjacent words joined to one, each with its weight. */
  pairs: ReadonlyMap<string, number>
  intent: Intent
  products: ProductPlaces
}

export type QueryTerm = { count: number; word: string }

/** Weights of adjacent words joined to one: see pairsOf. */
const PAIR = 0.5
const WHOLE_PAIR = 1

/** Reads at most MAX_QUERY_CHARACTERS and MAX_QUERY_WORDS. `isProduct`: whether a term names a product of the catalog. */
export function readQuery(
  text: string,
  lexicon: Lexicon,
  translate: Translator,
  isProduct: (term: string) => boolean,
): Query {
  const bounded = cut(text, MAX_QUERY_CHARACTERS)
  const translation = translate(bounded)
  const words = wordsOf(translation?.read ?? bounded).slice(0, MAX_QUERY_WORDS)
  const terms = new Map<string, QueryTerm>()
  const functionWords = new Set(translation?.functionWords)
  for (const { text: word, term } of words) {
    if (isStopword(word) || functionWords.has(word)) continue
    const known = terms.get(term)
    if (known) known.count++
    else terms.set(term, { count: 1, word })
  }
  return {
    text: bounded,
    english: translation?.text,
    foreign: translation ? translationsOf(translation, terms) : new Map(),
    terms,
    pairs: pairsOf(words),
    intent: intentOf(translation ? wordsOf(translation.text) : words, lexicon, isProduct),
    products: productPlaces(bounded, words, stem),
  }
}

/**
 * Adjacent words, joined, since tools may write them as one: `site map`, `GitHub`, `on call`. They have full weight if one of them is a
 * stopword or the query wrote them as one; two stopwords are not joined.
 */
function pairsOf(words: readonly Word[]): Map<string, number> {
  const pairs = new Map<string, number>()
  for (const [at, second] of words.entries()) {
    const first = words[at - 1]
    if (first === undefined) continue
    const stopwords = Number(isStopword(first.text)) + Number(isStopword(second.text))
    if (stopwords === 2) continue
    const weight = stopwords === 1 || first.run === second.run ? WHOLE_PAIR : PAIR
    pairs.set(first.text + second.text, weight)
  }
  return pairs
}

/** English stems by foreign term; a word that is not a term itself (Han) adds its English stems to `terms`. */
function translationsOf(translation: Translation, terms: Map<string, QueryTerm>): Map<string, string[]> {
  const foreign = new Map<string, string[]>()
  for (const { word, english } of translation.words) {
    const wordTerms = wordsOf(word).map(part => part.term)
    const stems = english.map(stem)
    for (const term of wordTerms) foreign.set(term, [...new Set([...(foreign.get(term) ?? []), ...stems])])
    if (wordTerms.some(term => terms.has(term))) continue
    for (const term of stems) if (!terms.has(term)) terms.set(term, { count: 1, word: term })
  }
  return foreign
}
