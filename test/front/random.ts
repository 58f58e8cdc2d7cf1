/** Random numbers, choices and texts that are the same for the same seed. */

export type Random = {
  /** A whole number from 0, less than `limit`. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
  /** Characters that a header may have. */
  text(length: number): string
}

/** Mulberry32: the same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) % limit) | 0
  }
  const character = () => String.fromCharCode(32 + below(95))
  return {
    below,
    pick: items => items[below(items.length)] as never,
    text: length => Array.from({ length }, character).join(''),
  }
}
