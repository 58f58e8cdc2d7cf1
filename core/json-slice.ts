/** Finds the text of one value in a JSON text, exactly as it was written: digits that a number has no room for are still there. Pure. */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACE = 0x7b
const NOWHERE = -1
/** Longer strings are looked through by the engine's own search, which takes its time to begin. */
const SHORT = 24

/**
 * The text of the member that `path` leads to from the outermost object, on one line; of several with one name the last, as JSON.parse
 * takes it. Undefined where there is none. The text must be valid JSON: whoever asks has parsed it. Reads it once, however deep it is.
 */
export function sliceJson(text: string, path: readonly string[]): string | undefined {
  const found: Span = { start: 0, end: NOWHERE }
  const start = spaceEnd(text, 0)
  if (text.charCodeAt(start) === BRACE) objectEnd(text, start, path, 0, found)
  if (found.end === NOWHERE) return undefined
  const slice = text.slice(found.start, found.end)
  // Line breaks stand only between JSON's tokens, where a space does as well.
  return slice.includes('\n') || slice.includes('\r') ? slice.replaceAll(/[\r\n]/g, ' ') : slice
}

type Span = { start: number; end: number }

/** Past the object at `start`. Into `found` goes where its member `path[depth]` is, or what the rest of the path leads to in that. */
function objectEnd(text: string, start: number, path: readonly string[], depth: number, found: Span): number {
  const key = path[depth] as string
  let at = spaceEnd(text, start + 1)
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at)
    // Past the colon.
    const valueStart = spaceEnd(text, spaceEnd(text, keyEnd) + 1)
    const valueEnd = isNamed(text, at, keyEnd, key)
      ? memberEnd(text, valueStart, path, depth, found)
      : valueEndOf(text, valueStart)
    at = spaceEnd(text, valueEnd)
    if (text.charCodeAt(at) === COMMA) at = spaceEnd(text, at + 1)
  }
  return at + 1
}

/** Past the value of a member on the path; what an earlier one of its name led to counts no more. */
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

/** Whether the key that is written there is this name; one with escapes is longer than its name. */
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

/** { or [, which differ in one bit alone, as their counterparts do. */
function isOpening(code: number): boolean {
  return (code & ~0x20) === 0x5b
}

function isClosing(code: number): boolean {
  return (code & ~0x20) === 0x5d
}

/** Past the closing quote of the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
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
