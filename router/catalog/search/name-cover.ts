/** How much of a tool's name a query covers: distinguishes `create_issue` from `create_issue_comment`, `get_pod` from `get_pods`. Pure. */

export type NameWord = { term: string; plural: boolean }

export type NameCover = {
  /** Clears the previous query. */
  reset(): void
  /** Adds a term of the query, with a weight of at most 1. */
  meet(term: string, weight: number): void
  /** Records whether the query uses a term in the singular or plural. */
  meetNumber(term: string, plural: boolean): void
  /** Whether name and query differ in number; for a tool that lists, a plural query matches a name in either number. */
  hasOtherNumber(document: number, lists: boolean): boolean
  /** Share of the weight of the name's terms that the query covers, 0 to 1. */
  of(document: number): number
}

/** `names` are the words of every name, each term once; `rarity` is a term's weight. Yields after every name. */
export function* buildNameCover(
  names: readonly (readonly NameWord[])[],
  rarity: (term: string) => number,
): Generator<void, NameCover> {
  const numbers = new Map<string, number>()
  const rarities: number[] = []
  const starts = new Int32Array(names.length + 1)
  const flat: number[] = []
  const plurals: number[] = []
  const totals = new Float64Array(names.length)
  for (const [document, words] of names.entries()) {
    for (const { term, plural } of words) {
      const number = numbers.get(term) ?? numbers.size
      if (number === rarities.length) {
        numbers.set(term, number)
        rarities.push(rarity(term))
      }
      flat.push(number)
      plurals.push(plural ? PLURAL : SINGULAR)
      totals[document] = (totals[document] as number) + (rarities[number] as number)
    }
    starts[document + 1] = flat.length
    yield
  }
  const terms = { starts, numbers: Int32Array.from(flat), plurals: Uint8Array.from(plurals) }
  return createNameCover(numbers, Float64Array.from(rarities), terms, totals)
}

/** The words of all names, concatenated. */
type Words = { starts: Int32Array; numbers: Int32Array; plurals: Uint8Array }

const SINGULAR = 1
const PLURAL = 2

function createNameCover(
  numbers: ReadonlyMap<string, number>,
  rarities: Float64Array,
  { starts, numbers: terms, plurals }: Words,
  totals: Float64Array,
): NameCover {
  /** Weight with which the query contains each term. */
  const met = new Float64Array(rarities.length)
  /** Whether the query uses the term in the singular or plural; 0 if it does not use it. */
  const asked = new Uint8Array(rarities.length)
  return {
    reset() {
      met.fill(0)
      asked.fill(0)
    },
    meet(term, weight) {
      const number = numbers.get(term)
      if (number !== undefined) met[number] = Math.max(met[number] as number, weight)
    },
    meetNumber(term, plural) {
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
      const total = totals[document] as number
      if (total === 0) return 0
      let sum = 0
      for (let at = starts[document] as number; at < (starts[document + 1] as number); at++) {
        const number = terms[at] as number
        sum += (rarities[number] as number) * (met[number] as number)
      }
      return sum / total
    },
  }
}
