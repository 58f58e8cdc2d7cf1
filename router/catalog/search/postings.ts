/** Postings with impacts: which documents contain a term, and how much it contributes to the score of each. Built by FlexSearch, then packed. Pure. */
import { Index } from 'flexsearch'

/** A document that contains a term, and the quantized impact of the term on its score (a step; 0 is the greatest impact), in one number. */
export type Posting = number

export type TermLists = {
  /** The postings of a term. Callers must not change them. */
  of(term: string): Uint32Array
  /** How many documents contain the term: its document frequency. */
  count(term: string): number
}

export type Postings = TermLists & {
  /** The number of a term, from 0 in the order in which they came; undefined for one that no document contains. */
  numberOf(term: string): number | undefined
  /** Every term that some document contains. */
  terms(): IterableIterator<string>
}

export type PostingsBuilder = {
  /** Adds a document once. Weights are term frequencies, already multiplied by the fields' weights and lengths. */
  add(document: number, weights: ReadonlyMap<string, number>): void
  /** Yields after every term. Nothing can be added afterwards. */
  build(): Generator<void, Postings>
}

/** FlexSearch keeps, for every term, one list of documents for each step. The last step would have no impact and stays empty. */
const STEPS = 31
const LAST_STEP = STEPS - 2
const STEP_BITS = 5
const IMPACTS = Float64Array.from({ length: STEPS }, (_, step) => 1 - step / (STEPS - 1))
export const NO_POSTINGS: Uint32Array = new Uint32Array(0)

/** `step`: of the impact, from 0. */
export function postingOf(document: number, step: number): Posting {
  return (document << STEP_BITS) | step
}

/** The id of the document. */
export function documentOf(posting: Posting): number {
  return posting >>> STEP_BITS
}

/** The impact of the term on the document, above 0 to 1. */
export function impactOf(posting: Posting): number {
  return IMPACTS[posting & ((1 << STEP_BITS) - 1)] as number
}

/** Inverse document frequency as in BM25, of a word that `count` of `size` documents contain; 0 if none does. */
export function inverseFrequency(count: number, size: number): number {
  return count === 0 ? 0 : Math.log(1 + (size - count + 0.5) / (count + 0.5))
}

/** `saturation` is the weight at which a term has half its greatest impact: impact = w / (w + saturation). */
export function createPostings(saturation: number): PostingsBuilder {
  const numbers = new Map<string, number>()
  let size = 0
  /** The terms of the document that is being added, and their steps. Undefined during a search, whose text is one term. */
  let adding: { terms: string[]; steps: number[] } | undefined
  const index = new Index<false, false, false>({
    tokenize: 'strict',
    resolution: STEPS,
    // Results are one list for each step instead of one merged list.
    resolve: false,
    cache: false,
    encode: text => adding?.terms ?? [text],
    score: (_content, _term, position) => adding?.steps[position] ?? LAST_STEP,
  })
  return {
    add(document, weights) {
      const terms = [...weights.keys()]
      if (terms.length === 0) return
      for (const term of terms) if (!numbers.has(term)) numbers.set(term, numbers.size)
      size += terms.length
      adding = { terms, steps: Array.from(weights.values(), weight => stepOf(weight, saturation)) }
      // Any text: the encoder above has the terms already.
      index.add(document, 'terms')
      adding = undefined
    },
    *build() {
      const postings = new Uint32Array(size)
      const starts = new Uint32Array(numbers.size + 1)
      let filled = 0
      for (const [term, number] of numbers) {
        // Ids are what `add` was given: numbers.
        for (const [step, documents] of (index.search(term).result as number[][]).entries())
          for (const document of documents ?? []) postings[filled++] = postingOf(document, step)
        starts[number + 1] = filled
        yield
      }
      return packed(numbers, starts, postings)
    },
  }
}

/** All lists in one array; `starts` has the offset of each. An array for each term and step would take three times the memory. */
function packed(numbers: ReadonlyMap<string, number>, starts: Uint32Array, postings: Uint32Array): Postings {
  const startOf = (number: number) => starts[number] as number
  return {
    of(term) {
      const number = numbers.get(term)
      return number === undefined ? NO_POSTINGS : postings.subarray(startOf(number), startOf(number + 1))
    },
    count(term) {
      const number = numbers.get(term)
      return number === undefined ? 0 : startOf(number + 1) - startOf(number)
    },
    numberOf: term => numbers.get(term),
    terms: () => numbers.keys(),
  }
}

/** The step of a weight; impact = w / (w + saturation). */
export function stepOf(weight: number, saturation: number): number {
  const impact = weight / (weight + saturation)
  return Math.min(LAST_STEP, Math.max(0, Math.round((1 - impact) * (STEPS - 1))))
}
