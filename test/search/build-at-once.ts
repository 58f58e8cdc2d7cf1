/** Builds a search index for tests in one go: without pauses between the steps, in which other work could run. */
import { buildIndex, type LexicalIndex } from '../../router/catalog/search/build.ts'
import type { SearchDocument } from '../../router/catalog/search/search-index.ts'

export function buildIndexAtOnce(
  documents: readonly SearchDocument[],
  previous?: LexicalIndex,
): LexicalIndex {
  const steps = buildIndex(documents, previous)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
