/** Reads the signs of whether the first hit of a search does what the query asks. Pure. */

import type { Corpus } from './corpus.ts'
import { FIELDS, type ToolTerms } from './fields.ts'
import type { NearKindsReader } from './kinds.ts'
import type { LexicalUnit } from './lexical.ts'
import { isProductName } from './product-names.ts'
import type { Query } from './query.ts'
import { isRare } from './rare-words.ts'
import type { Match } from './scorer.ts'

export const WORD_SIGNS = [
  /** Share of the query's weight that the document best met by words covers. */
  'cover',
  /** Share of the first hit's name that the query speaks of. */
  'name',
  /** How many terms of the query the first hit holds, and their share of the query's weight; that of those it holds as they were written. */
  'met',
  'met share',
  'as written',
  /** How many terms no tool holds in any form, and their share of the query's weight. */
  'unknown',
  'unknown share',
  /** How many words that are rare in requests for tools, such as names of products, the first hit does not hold; 1 if the first word is one. */
  'rare',
  'rare first',
  /** How many names of products no tool has; of them those that stand where products are named; 1 if a rare word names the first hit's server. */
  'absent names',
  'with capital',
  'absent products',
  'own product',
  /** 1 if the first hit does something else than the query asks for. */
  'other action',
  /** How many terms the query has. */
  'terms',
  /** The logarithm of the number of tools. */
  'tools',
] as const
export const MEANING_SIGNS = [
  /** The greatest similarity, and that of the first hit. */
  'nearest',
  'cosine',
  /** Mean and standard deviation of all similarities. */
  'mean',
  'spread',
  /** How much nearer the nearest tool is than all of other servers. */
  'lead',
  /** Similarity of the nearest kind of tool there is anywhere, and of the nearest few; the logarithm of how many are nearer than the nearest tool. */
  'kind',
  'few kinds',
  'nearer kinds',
] as const

/** With more names and a larger share of them, a query is in a language that the search does not know. */
const MOST_NAMES = 2
const NAMES_SHARE = 0.35
/** Enough to tell; the rest of a long query is not looked at. */
const COUNTED_NAMES = 12

export type WordSign = (typeof WORD_SIGNS)[number]
export type Sign = WordSign | (typeof MEANING_SIGNS)[number]
export type Signs = Record<WordSign, number> & Partial<Record<Sign, number>>

/** Signs of meaning are absent if the first hit has no vector, and with vectors of an encoder that nothing was learned of. */
export function readSigns(
  corpus: Corpus,
  query: Query,
  match: Match,
  first: number,
  nearKinds: NearKindsReader,
): Signs {
  const { fused } = match
  const signs = wordSigns(corpus, query, match, first)
  const cosine = fused?.similarities[first] ?? Number.NaN
  if (!fused?.isFamiliar || Number.isNaN(cosine)) return signs
  const { query: vector, range, mean, spread, lead } = fused
  const kinds = nearKinds(vector, range.best)
  if (!kinds) return signs
  return {
    ...signs,
    nearest: range.best,
    cosine,
    mean,
    spread,
    lead,
    kind: kinds.nearest,
    'few kinds': kinds.few,
    'nearer kinds': Math.log(1 + kinds.nearer),
  }
}

function wordSigns(corpus: Corpus, query: Query, { words }: Match, first: number): Record<WordSign, number> {
  const fields = corpus.fields[first] as ToolTerms
  const held = termsOf(fields)
  const [sums, all] = [{ met: 0, share: 0, written: 0, unknown: 0, unknownShare: 0, rare: 0 }, words.units]
  let weight = 0
  for (const unit of all) {
    const own = unit.count * unit.worth
    weight += own
    if (!unit.isKnown) {
      sums.unknown++
      sums.unknownShare += own
    }
    if (holds(held, unit)) {
      sums.met++
      sums.share += own
    } else if (isRare(unit.term)) sums.rare++
    if (held.has(unit.term)) sums.written += own
  }
  const share = (sum: number): number => (weight > 0 ? sum / weight : 0)
  const [opening] = all
  return {
    cover: words.cover,
    name: corpus.nameCover.of(first),
    met: sums.met,
    'met share': share(sums.share),
    'as written': share(sums.written),
    unknown: sums.unknown,
    'unknown share': share(sums.unknownShare),
    rare: sums.rare,
    'rare first': opening && isRare(opening.term) && !holds(held, opening) ? 1 : 0,
    ...productSigns(corpus, query, all, fields, held),
    'other action': isOther(query.intent.classes, corpus.actions[first] as number) ? 1 : 0,
    terms: all.length,
    tools: Math.log(1 + corpus.size),
  }
}

/** `fields`, `held`: of the first hit. */
function productSigns(
  corpus: Corpus,
  { products: { placed, capital } }: Query,
  units: readonly LexicalUnit[],
  fields: ToolTerms,
  held: ReadonlySet<string>,
): Record<'absent names' | 'with capital' | 'absent products' | 'own product', number> {
  const none = { 'absent names': 0, 'with capital': 0, 'absent products': 0, 'own product': 0 }
  if (units.some(({ term }) => isRare(term) && fields.server.includes(term)))
    return { ...none, 'own product': 1 }
  const names: string[] = []
  for (const unit of units) {
    const { term } = unit
    if (names.length === COUNTED_NAMES) break
    if (!holds(held, unit) && corpus.tools.count(term) === 0 && isProductName(term)) names.push(term)
  }
  if (names.length > MOST_NAMES && names.length > NAMES_SHARE * units.length) return none
  return {
    ...none,
    'absent names': names.length,
    'with capital': names.filter(name => capital.has(name)).length,
    'absent products': names.filter(name => placed.has(name)).length,
  }
}

function isOther(asked: number, own: number): boolean {
  return asked !== 0 && own !== 0 && (asked & own) === 0
}

function termsOf(fields: ToolTerms): ReadonlySet<string> {
  return new Set(FIELDS.flatMap(field => fields[field]))
}

function holds(held: ReadonlySet<string>, { alternatives }: LexicalUnit): boolean {
  return alternatives.keys().some(term => held.has(term))
}
