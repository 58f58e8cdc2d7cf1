/** Finds the source text of one value in a JSON text, so that digits beyond the precision of a number are kept. Pure. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACE = 0x7b
const NOWHERE = -1
/** Beyond this length `indexOf` is faster than a loop, despite its cost per call. */
const SHORT = 24

/**
 * The text, on one line, of the member at `path` in the outermost object; undefined if there is no such member. The last of several
 * members with the same name counts, as in JSON.parse. The text must be valid JSON: callers have parsed it. Takes linear time.
 */
export function sliceJson(text: string, path: readonly string[]): string | undefined {
  const found: Span = { start: 0, end: NOWHERE }
  const start = spaceEnd(text, 0)
  if (text.charCodeAt(start) === BRACE) objectEnd(text, start, path, 0, found)
  if (found.end === NOWHERE) return undefined
  const slice = text.slice(found.start, found.end)
  // In valid JSON, raw line breaks occur only between tokens, where a space is equivalent.
  return slice.includes('\n') || slice.includes('\r') ? slice.replaceAll(/[\r\n]/g, ' ') : slice
}

type Span = { start: number; end: number }

/** Returns the end of the object at `start`; sets `found` to the span of the value at `path[depth]` and deeper, if it has one. */
function objectEnd(text: string, start: number, path: readonly string[], depth: number, found: Span): number {
  const key = path[depth] as string
  let at = spaceEnd(text, start + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at)
    // + 1 skips the colon
    const valueStart = spaceEnd(text, spaceEnd(text, keyEnd) + 1)
    const valueEnd = isNamed(text, at, keyEnd, key)
      ? memberEnd(text, valueStart, path, depth, found)
      : valueEndOf(text, valueStart)
    at = spaceEnd(text, valueEnd)
    if (text.charCodeAt(at) === COMMA) at = spaceEnd(text, at + 1)
  }
  return at + 1
}

/** Returns the end of the value of a member on the path; discards what an earlier member of the same name led to. */
function memberEnd(text: string, start: number, path: readonly string[], depth: number, found: Span): number {
  found.end = NOWHERE
  const deeper = depth + 1 < path.length
  if (deeper && text.charCodeAt(start) === BRACE) return objectEnd(text, start, path, depth + 1, found)
  const end = valueEndOf(text, start)
  if (!deeper) {
    found.start = start
    found.end = end
  }
  return end
}

/** Whether the quoted key at `start` is `key`; a key written with escapes is longer than its name. */
function isNamed(text: string, start: number, end: number, key: string): boolean {
  const length = end - start - 2
  if (length <= key.length) return length === key.length && text.startsWith(key, start + 1)
  const written = text.slice(start, end)
  return written.includes('\\') && JSON.parse(written) === key
}

function valueEndOf(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return stringEnd(text, start)
  if (isOpening(first)) return containerEnd(text, start)
  let at = start
  while (at < text.length && !isScalarEnd(text.charCodeAt(at))) at++
  return at
}

function isScalarEnd(code: number): boolean {
  return code === COMMA || code <= 0x20 || isClosing(code)
}

function containerEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if (isOpening(code)) depth++
    else if (isClosing(code) && --depth === 0) return at + 1
  }
  return text.length
}

/** Whether it is { or [, which differ in one bit only, as do } and ]. */
export function isOpening(code: number): boolean {
  return (code & ~0x20) === 0x5b
}

function isClosing(code: number): boolean {
  return (code & ~0x20) === 0x5d
}

/** The position after the closing quote of the string that begins at `start`. */
export function stringEnd(text: string, start: number): number {
  let at = start + 1
  for (const end = at + SHORT; at < end; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) at++
  }
  for (at = text.indexOf('"', at); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

function spaceEnd(text: string, start: number): number {
  let at = start
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}
