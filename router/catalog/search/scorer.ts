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
      const factor = intentFactor(query.intent, corpus.actions[document] as number, lexicon.reading)
      const score = (scores[document] as number) * factor
      scores[document] = score
      best = Math.max(best, score)
    }
    return { hits, scores, best, confidence: fused?.confidence ?? words.cover, words, fused }
  }
}
