/** Parses JSON from outside, within a bound of its values: a value of two characters takes up to 150 bytes of memory. Pure. */
import { Fault } from './errors.ts'
import { isOpening, stringEnd } from './json-slice.ts'

/** Numbers, texts, lists, objects and so on, those in others included. So many take at most 75 MB; a pod has 512 MiB. */
export const MAX_VALUES = 500_000
const QUOTE = 0x22
const COMMA = 0x2c

/** Throws SyntaxError, or Fault `upstream_too_large` if the text has more than MAX_VALUES values. */
export function parseJson(text: string): unknown {
  if (hasManyValues(text))
    throw new Fault('upstream_too_large', `The answer has more than ${MAX_VALUES} values: ask for less`, {
      details: { maxValues: MAX_VALUES },
    })
  return JSON.parse(text)
}

/** Whether a text has more than MAX_VALUES values. Takes far less time than parsing it. */
export function hasManyValues(text: string): boolean {
  // A value and what separates it from the next have at least two characters.
  return text.length >= 2 * MAX_VALUES && countValues(text, MAX_VALUES) > MAX_VALUES
}

/** How many values a text has; counts only until there are more than `most`. Marks in strings count as well if that is not too many. */
export function countValues(text: string, most: number): number {
  // Each value is the outermost one, follows a comma, or is the first in a list or an object. An empty list or object counts twice.
  let count = 1
  for (const mark of [',', '[', '{'])
    for (let at = text.indexOf(mark); at !== -1 && count <= most; at = text.indexOf(mark, at + 1)) count++
  return count <= most ? count : countOutsideStrings(text, most)
}

/** Slower. */
function countOutsideStrings(text: string, most: number): number {
  let count = 1
  for (let at = 0; at < text.length && count <= most; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if (code === COMMA || isOpening(code)) count++
  }
  return count
}
