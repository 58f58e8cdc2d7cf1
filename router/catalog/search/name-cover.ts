/** How much of a tool's name a query speaks of: tells `create_issue` from `create_issue_comment`. Pure. */

export type NameCover = {
  /** Forgets the query before. */
  reset(): void
  /** Says that the query speaks of a term, with a weight of at most 1. */
  meet(term: string, weight: number): void
  /** Share of the weight of the name's terms that was met, 0 to 1. */
  of(document: number): number
}

/** `names` are the terms of every name; `rarity` says how much a term tells. Yields after every name. */
export function* buildNameCover(
  names: readonly (readonly string[])[],
  rarity: (term: string) => number,
): Generator<void, NameCover> {
  const numbers = new Map<string, number>()
  const rarities: number[] = []
  const starts = new Int32Array(names.length + 1)
  const flat: number[] = []
  const totals = new Float64Array(names.length)
  for (const [document, terms] of names.entries()) {
    for (const term of terms) {
      const number = numbers.get(term) ?? numbers.size
      if (number === rarities.length) {
        numbers.set(term, number)
        rarities.push(rarity(term))
      }
      flat.push(number)
      totals[document] = (totals[document] as number) + (rarities[number] as number)
    }
    starts[document + 1] = flat.length
    yield
  }
  return createNameCover(numbers, Float64Array.from(rarities), starts, Int32Array.from(flat), totals)
}

function createNameCover(
  numbers: ReadonlyMap<string, number>,
  rarities: Float64Array,
  starts: Int32Array,
  terms: Int32Array,
  totals: Float64Array,
): NameCover {
  /** Weight with which the query met each term. */
  const met = new Float64Array(rarities.length)
  return {
    reset: () => met.fill(0),
    meet(term, weight) {
      const number = numbers.get(term)
      if (number !== undefined) met[number] = Math.max(met[number] as number, weight)
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
