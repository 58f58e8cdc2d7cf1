/** How much of a tool's name a query covers: distinguishes `create_issue` from `create_issue_comment`, `get_pod` from `get_pods`. Pure. */

export type NameWord = { term: string; plural: boolean }

export type NameCoverage = {
  /** Clears the previous query. */
  reset(): void
  /** Records that the query contains a term, with a weight of at most 1. */
  addTerm(term: string, weight: number): void
  /** Records whether the query uses a term in the singular or plural. */
  addNumber(term: string, plural: boolean): void
  /** Whether name and query differ in number; for a tool that lists, a plural query matches a name in either number. */
  hasOtherNumber(document: number, lists: boolean): boolean
  /** Share of the weight of the name's terms that the query covers, 0 to 1. */
  of(document: number): number
  /** The same names and the same query, with other weights of the terms. */
  under(rarity: Rarity): NameCoverage
}

/** The weight of a term. */
export type Rarity = (term: string) => number

/** `names` are the words of every name, each term once. Yields after every name. */
export function* buildNameCoverage(
  names: readonly (readonly NameWord[])[],
  rarity: Rarity,
): Generator<void, NameCoverage> {
  const numbers = new Map<string, number>()
  const starts = new Int32Array(names.length + 1)
  const flat: number[] = []
  const plurals: number[] = []
  for (const [document, words] of names.entries()) {
    for (const { term, plural } of words) {
      const number = numbers.get(term) ?? numbers.size
      numbers.set(term, number)
      flat.push(number)
      plurals.push(plural ? PLURAL : SINGULAR)
    }
    starts[document + 1] = flat.length
    yield
  }
  const words = { terms: numbers, starts, numbers: Int32Array.from(flat), plurals: Uint8Array.from(plurals) }
  const query = { weights: new Float64Array(numbers.size), asked: new Uint8Array(numbers.size) }
  return createNameCoverage(words, query, rarity)
}

/** The words of all names, concatenated; those of a name begin at `starts[document]`. `numbers`: the number of each word's term; `terms`: the number of each term. */
type Words = {
  terms: ReadonlyMap<string, number>
  starts: Int32Array
  numbers: Int32Array
  plurals: Uint8Array
}

/** By number of a term: the weight with which the query contains it, and whether in the singular or plural; 0 if it does not contain it. */
type QueryTerms = { weights: Float64Array; asked: Uint8Array }

const SINGULAR = 1
const PLURAL = 2

function createNameCoverage(words: Words, query: QueryTerms, rarity: Rarity): NameCoverage {
  const { terms: numbers, starts, numbers: terms, plurals } = words
  const { weights, asked } = query
  /** By number of a term; NaN until it is computed. */
  const rarities = new Float64Array(numbers.size).fill(Number.NaN)
  let names: string[] | undefined
  const computeRarity = (number: number): number => {
    names ??= [...numbers.keys()]
    const rare = rarity(names[number] as string)
    rarities[number] = rare
    return rare
  }
  return {
    reset() {
      weights.fill(0)
      asked.fill(0)
    },
    addTerm(term, weight) {
      const number = numbers.get(term)
      if (number !== undefined) weights[number] = Math.max(weights[number] as number, weight)
    },
    addNumber(term, plural) {
      const number = numbers.get(term)
      if (number !== undefined) asked[number] = plural ? PLURAL : SINGULAR
    },
    hasOtherNumber(document, lists) {
      for (let at = starts[document] as number; at < (starts[document + 1] as number); at++) {
        const wanted = asked[terms[at] as number] as number
        if (wanted !== 0 && wanted !== plurals[at] && !(lists && wanted === PLURAL)) return true
      }
      return false
    },
    of(document) {
      let total = 0
      let sum = 0
      for (let at = starts[document] as number; at < (starts[document + 1] as number); at++) {
        const number = terms[at] as number
        let rare = rarities[number] as number
        if (Number.isNaN(rare)) rare = computeRarity(number)
        total += rare
        sum += rare * (weights[number] as number)
      }
      return total === 0 ? 0 : sum / total
    },
    under: rarity => createNameCoverage(words, query, rarity),
  }
}
