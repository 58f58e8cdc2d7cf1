/** Finds where a part of a long text ends: between JSON elements, at a line's end, or at a word, never within a character. Pure. */

/** Share of a part that may be given up for a better end. */
const SEARCHED_SHARE = 0.25

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const NEWLINE = 0x0a
const SPACE = 0x20
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])

/**
 * Returns the end of the part of UTF-8 `text` that begins at `from` and has at most `most` bytes; if `most` is positive, at least
 * one character.
 */
export function endOfPart(text: Buffer, from: number, most: number): number {
  if (most <= 0) return from
  const end = from + most
  if (end >= text.length) return text.length
  const least = from + Math.ceil(most * (1 - SEARCHED_SHARE))
  const found =
    (isJson(text) ? elementEnd(text, from, least, end) : undefined) ??
    endAfter(text, NEWLINE, least, end) ??
    endAfter(text, SPACE, least, end)
  return found ?? characterEnd(text, from, end)
}

function isJson(text: Buffer): boolean {
  const first = text.subarray(0, 64).toString('latin1').trimStart().charCodeAt(0)
  return OPENING.has(first)
}

/**
 * The last position at the lowest depth after a comma or line break outside strings. Parts begin where the last one ended, which is
 * outside a string unless the string is longer than a part; a position wrongly found within such a string is still between two
 * characters.
 */
function elementEnd(text: Buffer, from: number, least: number, end: number): number | undefined {
  let depth = 0
  let lowest = Number.POSITIVE_INFINITY
  let found: number | undefined
  let inString = false
  for (let at = from; at < end; at++) {
    const byte = text[at] as number
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (OPENING.has(byte)) depth++
    else if (CLOSING.has(byte)) depth--
    else if ((byte === COMMA || byte === NEWLINE) && at + 1 >= least && depth <= lowest) {
      lowest = depth
      found = at + 1
    }
  }
  return found
}

/** The position after the last such byte of the part, if it is not before `least`. */
function endAfter(text: Buffer, byte: number, least: number, end: number): number | undefined {
  const at = text.lastIndexOf(byte, end - 1)
  return at >= 0 && at + 1 >= least ? at + 1 : undefined
}

/** The last character boundary up to `end`, or the end of the first character if even that is longer. */
function characterEnd(text: Buffer, from: number, end: number): number {
  const isWithin = (at: number): boolean => ((text[at] ?? 0) & 0xc0) === 0x80
  let at = end
  while (at > from && isWithin(at)) at--
  if (at > from) return at
  at = from + 1
  while (isWithin(at)) at++
  return at
}
