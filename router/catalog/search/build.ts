/** Builds a search index step by step, reusing what an earlier one knows. Pure. */
import { buildCorpus } from './corpus.ts'
import { createExplain } from './explain.ts'
import type { ToolTerms } from './fields.ts'
import { createGlossary, type Glossary } from './gloss.ts'
import { buildLexicon, type Lexicon } from './lexicon.ts'
import { createMender } from './mend.ts'
import { MAX_QUERY_CHARACTERS } from './query.ts'
import { createRanking } from './ranking.ts'
import type { SearchDocument, SearchIndex } from './search-index.ts'

/** A search index that the next one can be built from. */
export type LexicalIndex = SearchIndex & {
  readonly reusable: {
    lexicon: Lexicon
    glossary: Glossary
    terms: readonly ToolTerms[]
  }
}

/**
 * Yields after every document of every pass (a fraction of a millisecond), so that the caller can give way; the terms of
 * documents that `previous` holds unchanged are not read again.
 */
export function* buildIndex(
  documents: readonly SearchDocument[],
  previous?: LexicalIndex,
): Generator<void, LexicalIndex> {
  const lexicon = previous?.reusable.lexicon ?? (yield* buildLexicon())
  const glossary = previous?.reusable.glossary ?? createGlossary()
  yield
  const corpus = yield* buildCorpus(documents, lexicon, knownTerms(previous))
  const rank = createRanking(corpus, lexicon, glossary)
  const mend = createMender(corpus, lexicon)
  return {
    documents,
    search: (query, options) => {
      const { hits, total } = rank(query, options)
      return { hits, total }
    },
    queryText: query => {
      const bounded = query.slice(0, MAX_QUERY_CHARACTERS)
      return glossary(bounded)?.text ?? mend(bounded)
    },
    explain: createExplain(corpus, lexicon, rank),
    reusable: { lexicon, glossary, terms: corpus.fields },
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
  for (const [at, document] of previous?.documents.entries() ?? []) known.set(pathOf(document), at)
  return document => {
    const at = known.get(pathOf(document))
    if (previous === undefined || at === undefined) return undefined
    return isSame(document, previous.documents[at]) ? previous.reusable.terms[at] : undefined
  }
}

function isSame(a: SearchDocument, b: SearchDocument | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function pathOf(document: SearchDocument): string {
  return `${document.server}:${document.tool}`
}
