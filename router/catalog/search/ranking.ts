/** From a query to the answer: scores of the layers, exact names first, how sure we are. Pure. */
import type { Corpus } from './corpus.ts'
import type { Glossary } from './gloss.ts'
import { createLexicalScorer } from './lexical.ts'
import type { Lexicon } from './lexicon.ts'
import { NEARLY } from './names.ts'
import { readQuery } from './query.ts'
import type { SearchDocument, SearchHit, SearchIndex } from './search-index.ts'

/** Below it a match is probably none. */
const WEAK_RELEVANCE = 0.15
/** Of a tool whose name differs from the query by one letter. */
const NEARLY_RELEVANCE = 0.9
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u

export function createSearch(corpus: Corpus, lexicon: Lexicon, glossary: Glossary): SearchIndex['search'] {
  const score = createLexicalScorer(corpus, lexicon)
  const { documents, names } = corpus
  return (text, { limit, visible = () => true }) => {
    const query = readQuery(text, lexicon, glossary)
    if (!LETTER_OR_DIGIT.test(query.text)) return { hits: [], total: 0 }
    const { hits, scores, best, cover } = score(query, visible)
    const named = visibleOnly(names.named(query.text), visible)
    const unmet = [...named.keys()].filter(document => scores[document] === 0)
    const before = (a: number, b: number) =>
      (named.get(b) ?? 0) - (named.get(a) ?? 0) ||
      (scores[b] as number) - (scores[a] as number) ||
      compareNames(documents[a] as SearchDocument, documents[b] as SearchDocument)
    const toHit = (document: number): SearchHit => {
      const exactness = named.get(document) ?? 0
      if (exactness > NEARLY) return { document, relevance: 1, weak: false, exact: true }
      if (exactness === NEARLY) return { document, relevance: NEARLY_RELEVANCE, weak: false, exact: false }
      const relevance = (cover * (scores[document] as number)) / best
      return { document, relevance, weak: relevance < WEAK_RELEVANCE, exact: false }
    }
    const order = bestOf([unmet, hits], limit, before)
    return { hits: order.map(toHit), total: hits.length + unmet.length }
  }
}

function visibleOnly(
  named: ReadonlyMap<number, number>,
  visible: (document: number) => boolean,
): Map<number, number> {
  return new Map([...named].filter(([document]) => visible(document)))
}

/** The first `limit` of all candidates, in order, without sorting the rest. */
function bestOf(
  candidates: readonly Iterable<number>[],
  limit: number,
  before: (a: number, b: number) => number,
): number[] {
  const best: number[] = []
  for (const list of candidates)
    for (const candidate of list) {
      if (best.length >= limit && (limit <= 0 || before(candidate, best[limit - 1] as number) >= 0)) continue
      if (best.length >= limit) best.pop()
      let at = best.length
      while (at > 0 && before(candidate, best[at - 1] as number) < 0) at--
      best.splice(at, 0, candidate)
    }
  return best
}

function compareNames(a: SearchDocument, b: SearchDocument): number {
  if (a.tool !== b.tool) return a.tool < b.tool ? -1 : 1
  return a.server < b.server ? -1 : a.server > b.server ? 1 : 0
}
