/** Corrects the misspelt and abbreviated words of a query before it is encoded: `crt ntbk` becomes `create notebook`. Pure. */
import type { Corpus } from './corpus.ts'
import type { Lexicon } from './lexicon.ts'
import { isStopword, stem } from './text.ts'

export type QueryCorrector = (query: string) => string

const WORD = /[\p{L}\p{N}_]+/gu
const MAY_BE_MISTYPED = /^[a-z]{3,}$/
const MAX_ABBREVIATION_CHARACTERS = 5
/** Minimum share of corrected words: in a sentence, a single word that no tool uses is more likely correct than a typo. */
const MIN_CORRECTED_SHARE = 0.4

export function createQueryCorrector(corpus: Corpus, lexicon: Lexicon): QueryCorrector {
  const correctionOf = (word: string): string | undefined => {
    const expansion = word.length <= MAX_ABBREVIATION_CHARACTERS ? lexicon.expansion(word) : undefined
    if (expansion !== undefined) return expansion
    const term = stem(word)
    if (!MAY_BE_MISTYPED.test(word) || corpus.tools.count(term) > 0 || lexicon.neighbours(term))
      return undefined
    const suggestion = corpus.spelling(word)[0]?.[0]
    if (suggestion === undefined || corpus.tools.count(suggestion) === 0) return undefined
    return lexicon.written(suggestion)
  }
  return query => {
    let words = 0
    let corrections = 0
    const text = query.replace(WORD, written => {
      const word = written.toLowerCase()
      if (isStopword(word)) return written
      words++
      const correction = correctionOf(word)
      if (correction !== undefined) corrections++
      return correction ?? written
    })
    return corrections > 0 && corrections / words >= MIN_CORRECTED_SHARE ? text : query
  }
}
