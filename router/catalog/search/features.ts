/** Computes the features from which the confidence in the first hit of a search is predicted. Pure. */

import type { Corpus } from './corpus.ts'
import { FIELDS, type ToolTerms } from './fields.ts'
import type { NearKindsReader } from './kinds.ts'
import type { WeightedTerm } from './lexical.ts'
import { isProductName } from './product-names.ts'
import type { Query } from './query.ts'
import { isRare } from './rare-words.ts'
import type { Match } from './scorer.ts'

export const LEXICAL_FEATURES = [
  /** Share of the query's weight that the document with the best lexical score covers. */
  'coverage',
  /** Share of the first hit's name that the query covers. */
  'name coverage',
  /** How many terms of the query the first hit contains in any form; their share of the query's weight; the share of those that it contains as written. */
  'matched',
  'matched share',
  'matched as written',
  /** How many terms no tool contains in any form, and their share of the query's weight. */
  'unknown',
  'unknown share',
  /** How many words of the query that are rare in requests for tools, such as names of products, the first hit does not contain; 1 if the query's first term is one of them. */
  'unmatched rare',
  'unmatched rare first',
  /** How many names of products in the query no tool contains; how many of these are capitalized; how many stand where products are named; 1 if a rare word names the first hit's server. */
  'absent names',
  'absent capitalized',
  'absent products',
  'server named',
  /** 1 if the first hit does something else than the query asks for. */
  'other action',
  /** How many terms the query has. */
  'terms',
  /** The logarithm of the number of tools. */
  'tools',
] as const
export const SEMANTIC_FEATURES = [
  /** The greatest similarity, and that of the first hit. */
  'best cosine',
  'cosine',
  /** Mean and standard deviation of all similarities. */
  'mean cosine',
  'standard deviation',
  /** The greatest similarity minus the greatest one of the other servers' tools. */
  'margin',
  /** Similarity of the nearest kind of tool (see kinds.ts), and the mean of the nearest few; the logarithm of how many are nearer than the nearest tool. */
  'kind cosine',
  'mean kind cosine',
  'nearer kinds',
] as const

/** A query with more such names, and a larger share of them among its terms, is in a language that the search does not know: none of them counts. */
const MAX_ABSENT_NAMES = 2
const MAX_ABSENT_SHARE = 0.35
/** The rest of a long query is ignored. */
const MAX_COUNTED_NAMES = 12

export type LexicalFeature = (typeof LEXICAL_FEATURES)[number]
export type Feature = LexicalFeature | (typeof SEMANTIC_FEATURES)[number]
export type Features = Record<LexicalFeature, number> & Partial<Record<Feature, number>>

/** Semantic features are absent if the first hit has no vector, or the vectors are those of another encoder than the one of the training. */
export function readFeatures(
  corpus: Corpus,
  query: Query,
  match: Match,
  first: number,
  nearKinds: NearKindsReader,
): Features {
  const { fused } = match
  const features = lexicalFeatures(corpus, query, match, first)
  const cosine = fused?.similarities[first] ?? Number.NaN
  if (!fused?.isFamiliar || Number.isNaN(cosine)) return features
  const { query: vector, range, mean, standardDeviation, margin } = fused
  const kinds = nearKinds(vector, range.max)
  if (!kinds) return features
  return {
    ...features,
    'best cosine': range.max,
    cosine,
    'mean cosine': mean,
    'standard deviation': standardDeviation,
    margin,
    'kind cosine': kinds.nearest,
    'mean kind cosine': kinds.meanOfNearest,
    'nearer kinds': Math.log(1 + kinds.nearer),
  }
}

function lexicalFeatures(
  corpus: Corpus,
  query: Query,
  { words }: Match,
  first: number,
): Record<LexicalFeature, number> {
  const fields = corpus.fields[first] as ToolTerms
  const contained = termsOf(fields)
  const [sums, all] = [
    { matched: 0, share: 0, written: 0, unknown: 0, unknownShare: 0, rare: 0 },
    words.terms,
  ]
  let weight = 0
  for (const term of all) {
    const termWeight = term.count * term.weight
    weight += termWeight
    if (!term.isKnown) {
      sums.unknown++
      sums.unknownShare += termWeight
    }
    if (contains(contained, term)) {
      sums.matched++
      sums.share += termWeight
    } else if (isRare(term.term)) sums.rare++
    if (contained.has(term.term)) sums.written += termWeight
  }
  const share = (sum: number): number => (weight > 0 ? sum / weight : 0)
  const [opening] = all
  return {
    coverage: words.coverage,
    'name coverage': corpus.nameCoverage.of(first),
    matched: sums.matched,
    'matched share': share(sums.share),
    'matched as written': share(sums.written),
    unknown: sums.unknown,
    'unknown share': share(sums.unknownShare),
    'unmatched rare': sums.rare,
    'unmatched rare first': opening && isRare(opening.term) && !contains(contained, opening) ? 1 : 0,
    ...productFeatures(corpus, query, all, fields, contained),
    'other action': isOther(query.intent.classes, corpus.actions[first] as number) ? 1 : 0,
    terms: all.length,
    tools: Math.log(1 + corpus.size),
  }
}

/** `fields`, `contained`: the terms of the first hit, by field and all together. */
function productFeatures(
  corpus: Corpus,
  { products: { placed, capital } }: Query,
  terms: readonly WeightedTerm[],
  fields: ToolTerms,
  contained: ReadonlySet<string>,
): Record<'absent names' | 'absent capitalized' | 'absent products' | 'server named', number> {
  const none = { 'absent names': 0, 'absent capitalized': 0, 'absent products': 0, 'server named': 0 }
  if (terms.some(({ term }) => isRare(term) && fields.server.includes(term)))
    return { ...none, 'server named': 1 }
  const names: string[] = []
  for (const weighted of terms) {
    const { term } = weighted
    if (names.length === MAX_COUNTED_NAMES) break
    if (!contains(contained, weighted) && corpus.tools.count(term) === 0 && isProductName(term))
      names.push(term)
  }
  if (names.length > MAX_ABSENT_NAMES && names.length > MAX_ABSENT_SHARE * terms.length) return none
  return {
    ...none,
    'absent names': names.length,
    'absent capitalized': names.filter(name => capital.has(name)).length,
    'absent products': names.filter(name => placed.has(name)).length,
  }
}

/** Whether a tool does none of the actions asked for. Both: bits of action classes, 0 if they are not known. */
function isOther(asked: number, offered: number): boolean {
  return asked !== 0 && offered !== 0 && (asked & offered) === 0
}

/** The terms of all fields of a document. */
export function termsOf(fields: ToolTerms): ReadonlySet<string> {
  return new Set(FIELDS.flatMap(field => fields[field]))
}

/** Whether a document with these terms contains the query's term in any form. */
export function contains(contained: ReadonlySet<string>, { alternatives }: WeightedTerm): boolean {
  return alternatives.keys().some(term => contained.has(term))
}
