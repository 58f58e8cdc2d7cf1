/** How well an index ranks judged queries, on average. Pure. */
import { DEPTH, type Measures, mean, measureRanking } from '../../router/catalog/search/measures.ts'
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import type { JudgedQuery } from './catalogs.ts'

export function measure(index: SearchIndex, queries: readonly JudgedQuery[]): Measures {
  const found = (query: string) =>
    index.search(query, { limit: DEPTH }).hits.map(hit => index.documents[hit.document] as SearchDocument)
  return mean(
    queries.map(({ query, relevant }) => ({ measures: measureRanking(found(query), relevant), weight: 1 })),
  )
}
