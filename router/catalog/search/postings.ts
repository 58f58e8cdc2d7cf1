/** Weighted postings: which documents hold a term, and how much it says about each. Pure. */

/** A document that holds a term, and the step of the term's impact on it, in one number. */
export type Posting = number

export type Postings = {
  /** Of a term, by document. Not to be changed. */
  of(term: string): Uint32Array
  /** How many documents hold the term. */
  count(term: string): number
  /** Every term that some document holds. */
  terms(): IterableIterator<string>
}

export type PostingsBuilder = {
  /** Adds a document once. Weights are term frequencies, already multiplied by the fields' weights and lengths. */
  add(document: number, weights: ReadonlyMap<string, number>): void
  build(): Postings
}

const STEP_BITS = 5
const STEPS = 30
const LAST_STEP = STEPS - 1
const IMPACTS = Float64Array.from({ length: STEPS }, (_, step) => 1 - step / STEPS)
const NONE = new Uint32Array(0)

export function documentOf(posting: Posting): number {
  return posting >>> STEP_BITS
}

/** The impact of the term on the document, above 0 to 1, in 30 steps. */
export function impactOf(posting: Posting): number {
  return IMPACTS[posting & ((1 << STEP_BITS) - 1)] as number
}

/** Inverse document frequency of BM25: how much a word says of `size` documents; 0 for a word that none of them holds. */
export function inverseFrequency(count: number, size: number): number {
  return count === 0 ? 0 : Math.log(1 + (size - count + 0.5) / (count + 0.5))
}

/** `saturation` is the weight at which a term has half its greatest impact: impact = w / (w + saturation). */
export function createPostings(saturation: number): PostingsBuilder {
  const numbers = new Map<string, number>()
  const counts: number[] = []
  /** As they come: the number of a term, and its posting. */
  const termOf: number[] = []
  const added: Posting[] = []
  return {
    add(document, weights) {
      for (const [term, weight] of weights) {
        const number = numbers.get(term) ?? numbers.size
        if (number === counts.length) {
          numbers.set(term, number)
          counts.push(0)
        }
        counts[number] = (counts[number] as number) + 1
        termOf.push(number)
        added.push((document << STEP_BITS) | stepOf(weight / (weight + saturation)))
      }
    },
    build: () => sorted(numbers, counts, termOf, added),
  }
}

/** Puts the postings of every term side by side: an array for each would take ten times the memory. */
function sorted(
  numbers: ReadonlyMap<string, number>,
  counts: readonly number[],
  termOf: readonly number[],
  added: readonly Posting[],
): Postings {
  const starts = new Uint32Array(counts.length + 1)
  for (const [number, count] of counts.entries()) starts[number + 1] = (starts[number] as number) + count
  const postings = new Uint32Array(added.length)
  const next = starts.slice()
  for (const [at, posting] of added.entries()) {
    const number = termOf[at] as number
    const place = next[number] as number
    postings[place] = posting
    next[number] = place + 1
  }
  return {
    of(term) {
      const number = numbers.get(term)
      return number === undefined ? NONE : postings.subarray(starts[number], starts[number + 1])
    },
    count(term) {
      const number = numbers.get(term)
      return number === undefined ? 0 : (starts[number + 1] as number) - (starts[number] as number)
    },
    terms: () => numbers.keys() as MapIterator<string>,
  }
}

function stepOf(impact: number): number {
  return Math.min(LAST_STEP, Math.max(0, Math.round((1 - impact) * STEPS)))
}
