/** The overall score: words, meaning and the action asked for. Pure. */

import { type Accumulator, createAccumulator } from './accumulator.ts'
import type { Corpus } from './corpus.ts'
import { createFusion, type FusedMatch, type Fusion } from './fusion.ts'
import { intentFactor } from './intent.ts'
import type { NearKindsReader } from './kinds.ts'
import { createLexicalScorer, type LexicalMatch } from './lexical.ts'
import type { Lexicon } from './lexicon.ts'
import type { Query } from './query.ts'
import { readingFirst } from './reading-first.ts'
import type { SearchOptions } from './search-index.ts'

/** A view on scratch memory: the next query overwrites it. */
export type Match = {
  /** Visible documents that match the query, in no order. */
  hits: Int32Array
  /** Score by document. */
  scores: Float64Array
  /** The best score. */
  best: number
  words: LexicalMatch
  /** Absent if only words were used. */
  fused?: FusedMatch
}

/** Factor for tools whose name is singular if the query is plural, or the reverse. */
const OTHER_NUMBER = 0.92

export type Scorer = (
  query: Query,
  visible: (document: number) => boolean,
  meaning: SearchOptions['meaning'],
) => Match

/** Memory for the scores of one query, reused by the next: allocated once for an index and all its parts. */
export type Scratch = {
  found: Accumulator
  serverScores: Float64Array
  fuse: Fusion
  nearKinds: NearKindsReader
}

/** Allocates the memory for all documents of the whole index. */
export function createScratch(
  { documents, serverCount, serverOf }: Corpus,
  nearKinds: NearKindsReader,
): Scratch {
  return {
    found: createAccumulator(documents.length),
    serverScores: new Float64Array(serverCount),
    fuse: createFusion(serverOf),
    nearKinds,
  }
}

export function createScorer(
  corpus: Corpus,
  lexicon: Lexicon,
  { found, serverScores, fuse }: Scratch,
): Scorer {
  const scoreWords = createLexicalScorer(corpus, lexicon, found, serverScores)
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
    return { hits, scores, best, words, fused }
  }
}

/** Distinguishes similar tools of a server: a factor by whether a tool's action, and the number of objects (one or many), are those of the query. */
export function siblingFactor(query: Query, document: number, corpus: Corpus, lexicon: Lexicon): number {
  const toolClasses = corpus.actions[document] as number
  const { intent } = query
  const action = Math.min(
    intentFactor(intent, toolClasses, lexicon),
    readingFirst(intent, toolClasses, lexicon),
  )
  const differsInNumber = corpus.nameCoverage.hasOtherNumber(document, (toolClasses & lexicon.listing) !== 0)
  return differsInNumber ? action * OTHER_NUMBER : action
}
