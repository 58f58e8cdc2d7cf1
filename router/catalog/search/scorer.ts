/** All that counts, put together: words, meaning and what is asked to be done. Pure. */
import type { Corpus } from './corpus.ts'
import { createFusion, type FusedMatch } from './fusion.ts'
import { intentFactor } from './intent.ts'
import { createLexicalScorer, type LexicalMatch } from './lexical.ts'
import type { Lexicon } from './lexicon.ts'
import type { Query } from './query.ts'
import type { SearchOptions } from './search-index.ts'

/** A view on scratch memory: the next query overwrites it. */
export type Match = {
  /** The visible documents that met the query, in no order. */
  hits: Int32Array
  /** Score by document. */
  scores: Float64Array
  /** The best score. */
  best: number
  /** How sure it is that anything answers the query, 0 to 1. */
  confidence: number
  words: LexicalMatch
  /** Absent where words alone were asked. */
  fused?: FusedMatch
}

/** What tools are worth whose name speaks of one where the query speaks of many, or the reverse. */
const OTHER_NUMBER = 0.92

export type Scorer = (
  query: Query,
  visible: (document: number) => boolean,
  meaning: SearchOptions['meaning'],
) => Match

export function createScorer(corpus: Corpus, lexicon: Lexicon): Scorer {
  const scoreWords = createLexicalScorer(corpus, lexicon)
  const fuse = createFusion(corpus.serverOf, corpus.serverCount)
  return (query, visible, meaning) => {
    const words = scoreWords(query, visible)
    const fused = meaning && fuse(words, visible, meaning)
    const { hits, scores } = fused ?? words
    let best = 0
    for (const document of hits) {
      const score = (scores[document] as number) * siblingFactor(query, document, corpus, lexicon)
      scores[document] = score
      best = Math.max(best, score)
    }
    return { hits, scores, best, confidence: fused?.confidence ?? words.cover, words, fused }
  }
}

/** Tells a tool from its siblings: whether it does what the query asks to be done, to as many as it asks for. */
export function siblingFactor(query: Query, document: number, corpus: Corpus, lexicon: Lexicon): number {
  const own = corpus.actions[document] as number
  const action = intentFactor(query.intent, own, lexicon.reading)
  const isOther = corpus.nameCover.hasOtherNumber(document, (own & lexicon.listing) !== 0)
  return isOther ? action * OTHER_NUMBER : action
}
