/** Whether two words differ by one or two typing errors. Pure. */

/** Whether at most one letter was inserted, deleted or replaced, or two neighbours were swapped. */
export function isOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  const { start, restOfA, restOfB } = differingPart(a, b)
  if (restOfA <= 1 && restOfB <= 1) return true
  return restOfA === 2 && restOfB === 2 && a[start] === b[start + 1] && a[start + 1] === b[start]
}

/** Whether inserting, deleting or replacing a letter at the first difference leaves at most one edit in the rest. */
export function isWithinTwoEdits(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 2) return false
  const { start } = differingPart(a, b)
  const restOfA = a.slice(start)
  const restOfB = b.slice(start)
  return (
    isOneEdit(restOfA.slice(1), restOfB.slice(1)) ||
    isOneEdit(restOfA.slice(1), restOfB) ||
    isOneEdit(restOfA, restOfB.slice(1))
  )
}

/** Where two words begin to differ, and how many letters of each are between their common prefix and suffix. */
function differingPart(a: string, b: string): { start: number; restOfA: number; restOfB: number } {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  return { start, restOfA: a.length - start - end, restOfB: b.length - start - end }
}
