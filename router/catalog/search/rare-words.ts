/** Tells words that requests for tools of any kind use (scripts/training/common-words.ts) from rare ones, such as names of products. Pure. */
import learned from './data/common-words.json' with { type: 'json' }

const COMMON: ReadonlySet<string> = new Set(learned.words.split(' '))
const LETTERS = /^\p{L}+$/u

/** `term`: a stem. */
export function isRare(term: string): boolean {
  return !COMMON.has(term) && LETTERS.test(term)
}
