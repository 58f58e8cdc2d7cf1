/** Leaves out resources and prompts that a search found only because the query names their server. Pure. */
import { isObject } from '../../../core/json.ts'
import { type Extra, routeOf } from '../../catalog/catalog.ts'
import { isStopword, stem, wordsOf } from '../../catalog/search/text.ts'
import type { Found } from './search-catalog.ts'

/** Hits whose relevances differ by less are equally relevant. */
const TIE = 0.05
/** How much of the query, and of each field, is read. */
const MAX_CHARACTERS = 2_000

/**
 * The first `most` hits that are not left out. A hit is kept if the query has a word of its own. If the query does not name its server either, one
 * whose relevance differs from all others of its server was found by its meaning, and is kept too.
 */
export function fittingExtras(query: string, hits: readonly Found<Extra>[], most: number): Found<Extra>[] {
  const words = wordsOf(query.slice(0, MAX_CHARACTERS)).filter(({ text }) => !isStopword(text))
  const queryTerms = new Set(words.map(({ term }) => term))
  // Lazy: words are extracted from no more hits than necessary.
  const fitting = hits.values().filter(hit => isNamed(hit.item, queryTerms, () => standsOut(hit, hits)))
  return fitting.take(most).toArray()
}

/** Whether the query has a word of the resource or prompt that is not one of its server. `otherwise`: decides if it has none of either. */
function isNamed(extra: Extra, queryTerms: ReadonlySet<string>, otherwise: () => boolean): boolean {
  const { server, serverTitle, tool, title, description, uri, inputSchema } = routeOf(extra).document
  const ofServer = new Set([server, serverTitle].flatMap(text => termsOf(text)))
  const asked = new Set([...queryTerms].filter(term => !ofServer.has(term)))
  if (asked.size === queryTerms.size && otherwise()) return true
  const initials = new Set([...asked].map(term => term[0]))
  // A stem begins with the first letter of its word, so most words need no stem to be told from those asked for.
  const stemIfAsked = (word: string) => (initials.has(word[0]) ? stem(word) : word)
  const hasAsked = (text: string | undefined) => termsOf(text, stemIfAsked).some(term => asked.has(term))
  const parameters = isObject(inputSchema?.properties) ? Object.keys(inputSchema.properties) : []
  return asked.size > 0 && [tool, title, description, uri, ...parameters].some(hasAsked)
}

/** Whether no other hit of the same server is equally relevant. */
function standsOut({ item, relevance }: Found<Extra>, hits: readonly Found<Extra>[]): boolean {
  const { server } = routeOf(item)
  return hits.every(
    other =>
      other.item === item ||
      routeOf(other.item).server !== server ||
      Math.abs(other.relevance - relevance) > TIE,
  )
}

function termsOf(text = '', stemWord = stem): string[] {
  return wordsOf(text.slice(0, MAX_CHARACTERS), stemWord).map(({ term }) => term)
}
