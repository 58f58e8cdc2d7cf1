/** Distinguishes words that requests for tools of any kind use (scripts/training/common-words.ts) from rare ones, such as names of products. Pure. */
import learned from './data/common-words.json' with { type: 'json' }

const COMMON: ReadonlySet<string> = new Set(learned.words.split(' '))
const LETTERS = /^\p{L}+$/u

/** Whether a stem is rare in such requests; false if it has anything but letters. */
export function isRare(term: string): boolean {
  return !COMMON.has(term) && LETTERS.test(term)
}
