/** Corrects a query of abbreviated and mistyped words so that it can be encoded: `crt ntbk` becomes `create notebook`. Pure. */
import type { Corpus } from './corpus.ts'
import type { Lexicon } from './lexicon.ts'
import { isStopword, stem } from './text.ts'

export type Mender = (query: string) => string

const WORD = /[\p{L}\p{N}_]+/gu
const MAY_BE_MISTYPED = /^[a-z]{3,}$/
const MAX_ABBREVIATION_CHARACTERS = 5
/** Minimum share of such words: in a sentence, a single word that no tool uses is more likely correct than a typo. */
const LEAST_SHARE = 0.4

export function createMender(corpus: Corpus, lexicon: Lexicon): Mender {
  const mended = (word: string): string | undefined => {
    const long = word.length <= MAX_ABBREVIATION_CHARACTERS ? lexicon.expansion(word) : undefined
    if (long !== undefined) return long
    const term = stem(word)
    if (!MAY_BE_MISTYPED.test(word) || corpus.tools.count(term) > 0 || lexicon.neighbours(term))
      return undefined
    const meant = corpus.spelling(word)[0]?.[0]
    return meant !== undefined && corpus.tools.count(meant) > 0 ? lexicon.written(meant) : undefined
  }
  return query => {
    let words = 0
    let slips = 0
    const text = query.replace(WORD, written => {
      const word = written.toLowerCase()
      if (isStopword(word)) return written
      words++
      const meant = mended(word)
      if (meant !== undefined) slips++
      return meant ?? written
    })
    return slips > 0 && slips / words >= LEAST_SHARE ? text : query
  }
}
