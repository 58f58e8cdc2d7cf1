/** Finds the well-known products that a query names and for which there is no server. Pure. */
import type { Corpus } from './corpus.ts'
import { contains, termsOf } from './features.ts'
import type { ToolTerms } from './fields.ts'
import type { WeightedTerm } from './lexical.ts'
import { isWellKnown } from './product-names.ts'
import type { Query } from './query.ts'

const MAX_NAMES = 3

/**
 * The products in lower case. Only words that stand where products are named, because many names are everyday words, too
 * (`linear`, `notion`). `first`: the first hit, which may say that it works with the product.
 */
export function absentProducts(
  { servers, fields }: Corpus,
  { terms, products: { placed, capital } }: Query,
  weighted: readonly WeightedTerm[],
  first: number,
): string[] {
  const wordOf = ({ term }: WeightedTerm) => terms.get(term)?.word ?? term
  const isAbsent = (one: WeightedTerm) =>
    isWellKnown(wordOf(one)) &&
    (placed.has(one.term) || capital.has(one.term)) &&
    one.alternatives.keys().every(term => servers.count(term) === 0)
  const absent = weighted.filter(isAbsent)
  // Nearly every query: the terms of the first hit need not be gathered.
  if (absent.length === 0) return []
  const contained = termsOf(fields[first] as ToolTerms)
  return absent
    .filter(one => !contains(contained, one))
    .slice(0, MAX_NAMES)
    .map(wordOf)
}
