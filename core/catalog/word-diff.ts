/** Compares two texts word by word. Pure. */

export type Piece = { kind: 'same' | 'removed' | 'added'; text: string }

/** How many pairs of words may still be compared (at first 32 MB of them). Differing parts that need more are shown as a whole. */
export type Budget = { pairs: number }

const MAX_PAIRS = 8_000_000
const WORDS = /\s+|[\p{L}\p{N}\p{M}_]+|[^\s\p{L}\p{N}\p{M}_]/gu

export function fullBudget(): Budget {
  return { pairs: MAX_PAIRS }
}

/**
 * The pieces to remove from `before` and to add, so that it becomes `after`. The longest common sequence of words stays. Texts that are
 * compared at one go share a budget, since the time that all of them take together matters.
 */
export function diffWords(before: string, after: string, budget = fullBudget()): Piece[] {
  const a = before.match(WORDS) ?? []
  const b = after.match(WORDS) ?? []
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const middle = compare(a.slice(start, a.length - end), b.slice(start, b.length - end), budget)
  const tail = end === 0 ? [] : a.slice(-end)
  return joined([
    ...a.slice(0, start).map(text => ({ kind: 'same' as const, text })),
    ...middle,
    ...tail.map(text => ({ kind: 'same' as const, text })),
  ])
}

function compare(a: readonly string[], b: readonly string[], budget: Budget): Piece[] {
  const removed = (text: string): Piece => ({ kind: 'removed', text })
  const added = (text: string): Piece => ({ kind: 'added', text })
  const pairs = a.length * b.length
  if (pairs > budget.pairs) return [...a.map(removed), ...b.map(added)]
  budget.pairs -= pairs
  const lengths = commonLengths(a, b)
  const width = b.length + 1
  const pieces: Piece[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ kind: 'same', text: a[i++] as string })
      j++
    } else if (
      j >= b.length ||
      (i < a.length && at(lengths, (i + 1) * width + j) >= at(lengths, i * width + j + 1))
    )
      pieces.push(removed(a[i++] as string))
    else pieces.push(added(b[j++] as string))
  }
  return pieces
}

/** Lengths of the longest common sequences of the ends `a[i…]` and `b[j…]`, at i × (b.length + 1) + j. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? at(lengths, (i + 1) * width + j + 1) + 1
          : Math.max(at(lengths, (i + 1) * width + j), at(lengths, i * width + j + 1))
  return lengths
}

function at(lengths: Uint32Array, position: number): number {
  return lengths[position] ?? 0
}

/** One removed and one added piece for each change; white space between two changes belongs to them. */
function joined(pieces: readonly Piece[]): Piece[] {
  const runs: Piece[] = []
  let change = { removed: '', added: '' }
  const end = () => {
    const { removed, added } = change
    if (removed !== '') runs.push({ kind: 'removed', text: removed })
    if (added !== '') runs.push({ kind: 'added', text: added })
    change = { removed: '', added: '' }
  }
  for (const [position, { kind, text }] of pieces.entries()) {
    const isOpen = change.removed + change.added !== ''
    const next = pieces[position + 1]?.kind ?? 'same'
    if (kind !== 'same') change[kind] += text
    else if (isOpen && text.trim() === '' && next !== 'same')
      change = { removed: change.removed + text, added: change.added + text }
    else {
      end()
      const last = runs.at(-1)
      if (last?.kind === 'same') last.text += text
      else runs.push({ kind, text })
    }
  }
  end()
  return runs
}
