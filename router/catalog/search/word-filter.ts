/** A Bloom filter of words: knows all that it was made of, and takes one of some thousands of others for one of them. Pure. */

export type WordFilter = (word: string) => boolean

const HASHES = 14
const [BASIS, PRIME] = [0x811c9dc5, 0x01000193]
const OTHER_BASIS = 0x9747b28c

/** `filter`: its bits, in base64. */
export function readWordFilter(filter: string): WordFilter {
  const bytes = Buffer.from(filter, 'base64')
  const size = bytes.length * 8
  return word => bitsOf(word, size).every(bit => ((bytes[bit >> 3] as number) & (1 << (bit & 7))) !== 0)
}

/** The bits of a word in a filter of `size` bits. */
export function* bitsOf(word: string, size: number): Generator<number> {
  const step = hash(word, OTHER_BASIS) | 1
  let at = hash(word, BASIS)
  for (let count = 0; count < HASHES; count++) {
    yield at % size
    at = (at + step) >>> 0
  }
}

/** FNV-1a, mixed once more: its low bits alone are too alike for similar words. */
function hash(word: string, basis: number): number {
  let value = basis
  for (let at = 0; at < word.length; at++) value = Math.imul(value ^ word.charCodeAt(at), PRIME)
  value = Math.imul(value ^ (value >>> 15), 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
