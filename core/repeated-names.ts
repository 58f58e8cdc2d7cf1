/** Tells whether objects of a JSON text have a name twice: parsers disagree which of the values counts. Pure. */
import type { JsonValue } from './json.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** `value`: what the text, which is valid JSON, was parsed to; it has a repeated name only once. Takes linear time. */
export function hasRepeatedNames(text: string, value: JsonValue | undefined): boolean {
  return membersIn(text) > membersOf(value)
}

/** Each member has a colon outside of strings. */
function membersIn(text: string): number {
  let count = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (code === BACKSLASH) at++
    else if (code === COLON && !isInString) count++
  }
  return count
}

function membersOf(value: JsonValue | undefined): number {
  let count = 0
  const left: (JsonValue | undefined)[] = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    if (Array.isArray(next)) {
      for (const inner of next) if (typeof inner === 'object' && inner !== null) left.push(inner)
      continue
    }
    for (const name in next) {
      count++
      const inner = next[name]
      if (typeof inner === 'object' && inner !== null) left.push(inner)
    }
  }
  return count
}
