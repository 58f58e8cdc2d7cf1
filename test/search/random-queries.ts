/** Queries that nobody would ask, the same ones each time: words of the catalog, words that none has, and both, up to a dozen. */
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'

const MAX_WORDS = 12
const MAX_LETTERS = 12
const SEED = 20_261_122

export function randomQueries(documents: readonly SearchDocument[], count: number): string[] {
  const next = numbers(SEED)
  const known = documents.flatMap(({ tool, description }) => `${tool} ${description ?? ''}`.split(/[\s_-]+/))
  const unknown = () =>
    String.fromCharCode(...Array.from({ length: 2 + next(MAX_LETTERS) }, () => 97 + next(26)))
  const word = () => (next(5) < 3 ? (known[next(known.length)] ?? '') : unknown())
  return Array.from({ length: count }, () => Array.from({ length: 1 + next(MAX_WORDS) }, word).join(' '))
}

/** A linear congruential generator: whole numbers from 0, below what is asked. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return Math.floor((state / 0x8000_0000) * below)
  }
}
