/** Builds a search index step by step, and reuses parts of an earlier one. Pure. */
import { cut } from '../../../core/cut.ts'
import { buildCorpus, type Corpus } from './corpus.ts'
import { createQueryCorrector } from './correct-query.ts'
import { createExplain } from './explain.ts'
import type { ToolTerms } from './fields.ts'
import { createNearKinds, type NearKindsReader } from './kinds.ts'
import { buildLexicon, type Lexicon } from './lexicon.ts'
import { createParts } from './part-index.ts'
import { serversByProduct } from './product-names.ts'
import { MAX_QUERY_CHARACTERS } from './query-limits.ts'
import { createRanking } from './ranking.ts'
import { createScratch, type Scratch } from './scorer.ts'
import type { SearchDocument, SearchIndex } from './search-index.ts'
import { type MakeTranslator, prepareTranslators, type Translator } from './translate-query.ts'

/** A search index that the next one can be built from. */
export type LexicalIndex = SearchIndex & {
  /** The index of some of the documents, which are its documents in this order; `members`: their ids, ascending. Takes a millisecond or two. */
  under(members: Int32Array): LexicalIndex
  /** All documents and their terms, also if this is the index of a part. */
  readonly reusable: {
    lexicon: Lexicon
    makeTranslator: MakeTranslator
    nearKinds: NearKindsReader
    documents: readonly SearchDocument[]
    terms: readonly ToolTerms[]
  }
}

/** What an index is made from; also the index of a part. */
export type IndexSources = {
  corpus: Corpus
  lexicon: Lexicon
  /** By product: the servers of the whole corpus that are named after it. */
  products: ReadonlyMap<string, readonly number[]>
  makeTranslator: MakeTranslator
  translate: Translator
  scratch: Scratch
}

/**
 * Yields after every document of every pass (a fraction of a millisecond), so that the caller can run other tasks in between; the
 * terms of documents that are unchanged since `previous` are not read again.
 */
export function* buildIndex(
  documents: readonly SearchDocument[],
  previous?: LexicalIndex,
): Generator<void, LexicalIndex> {
  const lexicon = previous?.reusable.lexicon ?? (yield* buildLexicon())
  const makeTranslator = previous?.reusable.makeTranslator ?? prepareTranslators()
  const nearKinds = previous?.reusable.nearKinds ?? createNearKinds()
  yield
  const corpus = yield* buildCorpus(documents, lexicon, knownTerms(previous))
  const products = serversByProduct(corpus)
  const translate = makeTranslator(term => products.has(term))
  const scratch = createScratch(corpus, nearKinds)
  const sources = { corpus, lexicon, products, makeTranslator, translate, scratch }
  return { ...indexOf(sources), under: createParts(sources, indexOf) }
}

function indexOf({
  corpus,
  lexicon,
  makeTranslator,
  translate,
  scratch,
}: IndexSources): Omit<LexicalIndex, 'under'> {
  const rank = createRanking(corpus, lexicon, translate, scratch)
  const correct = createQueryCorrector(corpus, lexicon)
  const { documents, fields: terms } = corpus
  return {
    documents,
    search: (query, options) => {
      const { hits, total, absent } = rank(query, options)
      return { hits, total, ...(absent && { absent }) }
    },
    queryText: query => {
      const bounded = cut(query, MAX_QUERY_CHARACTERS)
      return translate(bounded)?.text ?? correct(bounded)
    },
    explain: createExplain(corpus, lexicon, rank),
    reusable: { lexicon, makeTranslator, nearKinds: scratch.nearKinds, documents, terms },
  }
}

/** Runs a generator to its end; after every step `giveWay` may return a promise to wait for before the next. */
export async function runSliced<T>(
  steps: Generator<void, T>,
  giveWay: () => Promise<void> | undefined,
): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    const pause = giveWay()
    if (pause) await pause
  }
}

function knownTerms(previous: LexicalIndex | undefined): (document: SearchDocument) => ToolTerms | undefined {
  const known = new Map<string, number>()
  for (const [at, document] of previous?.reusable.documents.entries() ?? []) known.set(pathOf(document), at)
  return document => {
    const at = known.get(pathOf(document))
    if (previous === undefined || at === undefined) return undefined
    return isSame(document, previous.reusable.documents[at]) ? previous.reusable.terms[at] : undefined
  }
}

function isSame(a: SearchDocument, b: SearchDocument | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function pathOf(document: SearchDocument): string {
  return `${document.server}:${document.tool}`
}
