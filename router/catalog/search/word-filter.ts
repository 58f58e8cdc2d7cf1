/** A Bloom filter of words: accepts all words that it was made of, and about one in some thousands of other words. Pure. */

/** Whether a word is in the filter; seldom true for a word that is not. */
export type WordFilter = (word: string) => boolean

/** How many bits each word sets. */
const HASHES = 14
/** Constants of FNV-1a with 32 bits, and another start value for the second hash. */
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]
const OTHER_BASIS = 0x9747b28c

/** `filter`: its bits, in base64. */
export function readWordFilter(filter: string): WordFilter {
  const bytes = Buffer.from(filter, 'base64')
  const size = bytes.length * 8
  return word => {
    let at = hash(word, BASIS)
    let step = 0
    for (let count = 0; count < HASHES; count++) {
      const bit = at % size
      if (((bytes[bit >> 3] as number) & (1 << (bit & 7))) === 0) return false
      // Half of the words that are not in the filter end at their first bit, without the second hash.
      if (count === 0) step = stepOf(word)
      at = (at + step) >>> 0
    }
    return true
  }
}

/** The positions of the bits of a word in a filter of `size` bits. */
export function* bitsOf(word: string, size: number): Generator<number> {
  const step = stepOf(word)
  let at = hash(word, BASIS)
  for (let count = 0; count < HASHES; count++) {
    yield at % size
    at = (at + step) >>> 0
  }
}

function stepOf(word: string): number {
  return hash(word, OTHER_BASIS) | 1
}

/** FNV-1a, mixed once more, since its low bits are too alike for similar words. */
function hash(word: string, basis: number): number {
  let value = basis
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), PRIME)
  value = Math.imul(value ^ (value >>> 15), 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
