/** Weighted postings: which documents hold a term, and how much it says about each. FlexSearch keeps them. Pure. */
import { Index } from 'flexsearch'

export type TermLists = {
  /** The documents of a term by steps: those in list s have impact `impactOf(s)`. Not to be changed. */
  of(term: string): readonly (readonly number[] | undefined)[]
  /** How many documents hold the term. */
  count(term: string): number
}

export type Postings = TermLists & {
  /** Adds a document once. Weights are term frequencies, already multiplied by the fields' weights and lengths. */
  add(document: number, weights: ReadonlyMap<string, number>): void
  /** The number of a term, from 0 in the order in which they came; undefined for one that no document holds. */
  numberOf(term: string): number | undefined
  /** Every term that some document holds. */
  terms(): IterableIterator<string>
}

/** FlexSearch keeps, for every term, one list of documents a step. The last step would say nothing and stays empty. */
const STEPS = 31
const LAST_STEP = STEPS - 2
export const NO_LISTS: readonly (readonly number[] | undefined)[] = []

/** The impact, above 0 to 1, that a step of the postings stands for. */
export function impactOf(step: number): number {
  return 1 - step / (STEPS - 1)
}

/** Inverse document frequency of BM25: how much a word says of `size` documents; 0 for a word that none of them holds. */
export function inverseFrequency(count: number, size: number): number {
  return count === 0 ? 0 : Math.log(1 + (size - count + 0.5) / (count + 0.5))
}

/** `saturation` is the weight at which a term has half its greatest impact: impact = w / (w + saturation). */
export function createPostings(saturation: number): Postings {
  const numbers = new Map<string, number>()
  /** By number of term. */
  const counts: number[] = []
  /** The terms of the document that is added, and their steps; a query is one term. */
  let adding: { terms: string[]; steps: number[] } | undefined
  const index = new Index<false, false, false>({
    tokenize: 'strict',
    resolution: STEPS,
    // Answers with the lists of each step instead of one list merged from them.
    resolve: false,
    cache: false,
    encode: text => adding?.terms ?? [text],
    score: (_content, _term, position) => adding?.steps[position] ?? LAST_STEP,
  })
  return {
    add(document, weights) {
      const terms = [...weights.keys()]
      if (terms.length === 0) return
      const steps = Array.from(weights.values(), weight => stepOf(weight, saturation))
      for (const term of terms) {
        const number = numbers.get(term) ?? numbers.size
        if (number === counts.length) {
          numbers.set(term, number)
          counts.push(0)
        }
        counts[number] = (counts[number] as number) + 1
      }
      adding = { terms, steps }
      // Any text: the encoder above has the terms already.
      index.add(document, 'terms')
      adding = undefined
    },
    // Ids are what `add` was given: numbers.
    of: term => (numbers.has(term) ? (index.search(term).result as number[][]) : NO_LISTS),
    count: term => counts[numbers.get(term) ?? -1] ?? 0,
    numberOf: term => numbers.get(term),
    terms: () => numbers.keys(),
  }
}

/** The step of a weight; impact = w / (w + saturation). */
export function stepOf(weight: number, saturation: number): number {
  const impact = weight / (weight + saturation)
  return Math.min(LAST_STEP, Math.max(0, Math.round((1 - impact) * (STEPS - 1))))
}
