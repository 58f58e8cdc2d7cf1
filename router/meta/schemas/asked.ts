/** Which values of a long enum a query asks for. Pure. */
import type { JsonValue } from '../../../core/json.ts'
import { isStopword, wordsOf } from '../../catalog/search/text.ts'

const MAX_QUERY_CHARACTERS = 500
const MAX_VALUE_CHARACTERS = 80
/** How many values of an enum are compared with the query, and how many of those that contain a word of it are shown. */
export const MAX_COMPARED = 1_000
export const MAX_NEAR = 5

/** The terms of queries that values of an enum are compared with. */
export function askedTerms(query: string | readonly string[]): ReadonlySet<string> {
  const words = [query].flat().flatMap(one => wordsOf(one.slice(0, MAX_QUERY_CHARACTERS)))
  return new Set(words.filter(({ text }) => !isStopword(text)).map(({ term }) => term))
}

/** Whether a value of an enum contains a word of the query: `mapbox/cycling` for "directions cycling". */
export function isNear(value: JsonValue, asked: ReadonlySet<string>): boolean {
  if (asked.size === 0 || typeof value !== 'string' || value.length > MAX_VALUE_CHARACTERS) return false
  return wordsOf(value).some(({ term }) => asked.has(term))
}
