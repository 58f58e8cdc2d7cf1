/** Measures of a ranking against judged queries: recall, reciprocal rank, discounted gain. Pure. */
import type { SearchDocument, SearchIndex } from '../../router/catalog/search/search-index.ts'
import type { JudgedQuery } from './catalogs.ts'

const DEPTH = 10

/** Means over queries. A group is met by the first of its members; each group counts once. */
export type Measures = {
  recall1: number
  recall5: number
  recall10: number
  /** Mean reciprocal rank of the first group met. */
  mrr10: number
  /** Discounted cumulative gain of the groups' first members, over the best possible. */
  ndcg10: number
}

export function measure(index: SearchIndex, queries: readonly JudgedQuery[]): Measures {
  return mean(queries.map(judged => measureOne(index, judged)).map(measures => ({ measures, weight: 1 })))
}

export function mean(parts: readonly { measures: Measures; weight: number }[]): Measures {
  const total = parts.reduce((sum, part) => sum + part.weight, 0)
  const of = (name: keyof Measures) =>
    parts.reduce((sum, part) => sum + part.weight * part.measures[name], 0) / total
  return {
    recall1: of('recall1'),
    recall5: of('recall5'),
    recall10: of('recall10'),
    mrr10: of('mrr10'),
    ndcg10: of('ndcg10'),
  }
}

function measureOne(index: SearchIndex, judged: JudgedQuery): Measures {
  const ranks = ranksOf(index, judged)
  const recall = (depth: number) => ranks.filter(rank => rank < depth).length / ranks.length
  const first = Math.min(...ranks)
  const gain = (positions: readonly number[]) =>
    positions.filter(rank => rank < DEPTH).reduce((sum, rank) => sum + 1 / Math.log2(rank + 2), 0)
  return {
    recall1: recall(1),
    recall5: recall(5),
    recall10: recall(10),
    mrr10: first < DEPTH ? 1 / (first + 1) : 0,
    ndcg10: gain(ranks) / gain(ranks.map((_, at) => at)),
  }
}

/** The position of the first member of every group, from 0; infinite where none was found. */
function ranksOf(index: SearchIndex, judged: JudgedQuery): number[] {
  const found = index.search(judged.query, { limit: DEPTH }).hits.map(hit => index.documents[hit.document])
  const groups = Map.groupBy(judged.relevant, relevant => relevant.group).values()
  return [...groups].map(members => {
    const isMember = (document: SearchDocument | undefined) =>
      members.some(member => member.server === document?.server && member.tool === document.tool)
    const rank = found.findIndex(isMember)
    return rank < 0 ? Number.POSITIVE_INFINITY : rank
  })
}
