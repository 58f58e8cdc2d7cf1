/** Finds the known word closest to a mistyped one. Pure. */

const MAX_LENGTH = 64

/** The nearest of `known` within a third of the word's length, or undefined. */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  const wanted = word.slice(0, MAX_LENGTH).toLowerCase()
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  let best: { word: string; distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.slice(0, MAX_LENGTH).toLowerCase())
    if (distance <= limit && (!best || distance < best.distance)) best = { word: candidate, distance }
  }
  return best?.word
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let distance = Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) distance = Math.min(distance, (before[j - 2] ?? 0) + 1)
      row.push(distance)
    }
    before = previous
    previous = row
  }
  return previous[b.length] ?? 0
}
