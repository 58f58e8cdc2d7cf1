/** Metrics of a ranking against judged queries: recall, MRR, nDCG. Pure. */

export type FoundTool = { server: string; tool: string }

/** A group stands for one needed tool; any of its members satisfies it. */
export type RelevantTool = FoundTool & { group: number }

/** Measures of one query, or means over queries; each from 0 to 1. A group counts once, at the rank of its first member. */
export type Measures = {
  recall1: number
  recall5: number
  recall10: number
  /** Mean reciprocal rank of the first group found. */
  mrr10: number
  /** Discounted cumulative gain of the groups' first members, over the best possible. */
  ndcg10: number
}

/** How many of the first hits are considered. */
export const DEPTH = 10

/** Measures the ranking of one query. `found`: the first hits, best first; `relevant`: at least one tool. */
export function measureRanking(found: readonly FoundTool[], relevant: readonly RelevantTool[]): Measures {
  const ranks = ranksOf(found.slice(0, DEPTH), relevant)
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

/** The weighted mean of each measure. `parts`: at least one. */
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

/** The rank of the first member of every group, from 0; infinite if none was found. */
function ranksOf(found: readonly FoundTool[], relevant: readonly RelevantTool[]): number[] {
  const groups = Map.groupBy(relevant, ({ group }) => group).values()
  return [...groups].map(members => {
    const isMember = ({ server, tool }: FoundTool) =>
      members.some(member => member.server === server && member.tool === tool)
    const rank = found.findIndex(isMember)
    return rank < 0 ? Number.POSITIVE_INFINITY : rank
  })
}
