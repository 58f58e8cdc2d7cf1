/** Finds the words of a query that stand where products are named: first, after `in` or `with`, last of a few, or with a capital. Pure. */
import { isStopword, type Word } from './text.ts'

export type ProductPlaces = {
  /** Terms at the beginning, after a word such as `in`, or at the end of a short query. */
  placed: ReadonlySet<string>
  /** Terms that are written with a capital. */
  capital: ReadonlySet<string>
}

const BEFORE: ReadonlySet<string> = new Set('in on from with via using into inside'.split(' '))
/** A query of at most this many words is not a sentence: `send message slack`. */
const FEW_WORDS = 5
const CAPITAL = /\p{Lu}[\p{L}\p{N}]+/gu

/** `words`: those of `text`; `termOf`: the stem of a word in lower case. */
export function productPlaces(
  text: string,
  words: readonly Word[],
  termOf: (word: string) => string,
): ProductPlaces {
  const placed = new Set<string>()
  const [first] = words
  if (first && words.length > 1 && !isStopword(first.text)) placed.add(first.term)
  const last = words.at(-1)
  if (last && words.length > 1 && words.length <= FEW_WORDS) placed.add(last.term)
  for (const [at, { term }] of words.entries()) if (BEFORE.has(words[at - 1]?.text ?? '')) placed.add(term)
  const capital = new Set((text.match(CAPITAL) ?? []).map(word => termOf(word.toLowerCase())))
  return { placed, capital }
}
