/** Decides which found tools are shown with their schema, and how many tokens each schema may use. Pure. */

/** A hit, and the tokens of its whole schema. */
export type SchemaNeed = { relevance: number; weak: boolean; tokens: number }

/** The first hits, which are called most. */
const FIRST = 3
/** Hits this much less relevant than the best one are seldom called: they take no room from the schemas of others. */
export const MIN_SHARE_OF_BEST = 0.6
/** Further hits whose relevance is at least this share of the best one also get their schema, as long as there are fewer than MAX_SCHEMAS. */
const NEAR_TIE = 0.95
const MAX_SCHEMAS = 5
/** The best hit's weight when not all schemas fit: how much more it gets than an equally relevant hit. */
const BEST_WEIGHT = 2
/**
 * Exponent of a hit's relative relevance in its weight. Measured: a second hit with 90 % of the best relevance is the wanted tool in about
 * 60 % of cases; with 80 % in 35 %, with 70 % in 15 %.
 */
const STEEPNESS = 3

/** Whether the hit at a rank is among the first; `needs` is how many queries are answered at once. */
export function isFirst(rank: number, needs: number): boolean {
  return rank < Math.max(FIRST, needs)
}

/**
 * The tokens for the schema of each hit, 0 for none. The first hits share `room`: what one does not need is left to the others, and a
 * schema that does not fit gets less than it needs. Those far below the best, and near ties after the first hits, are shown whole or not
 * at all. `overhead`: further tokens for each schema.
 */
export function schemaShares(
  hits: readonly SchemaNeed[],
  room: number,
  needs: number,
  overhead: number,
): number[] {
  const least = MIN_SHARE_OF_BEST * (hits[0]?.relevance ?? 0)
  const tie = NEAR_TIE * (hits[0]?.relevance ?? 0)
  const ranks = [...hits.keys()].filter(rank => !hits[rank]?.weak)
  const first = ranks.filter(
    rank => isFirst(rank, needs) && (rank < needs || (hits[rank]?.relevance ?? 0) >= least),
  )
  const shares = hits.map(() => 0)
  let left = shareOut(hits, first, { room: room - overhead * first.length, needs }, shares)
  let count = first.length
  for (const rank of ranks) {
    const { relevance, tokens } = hits[rank] as SchemaNeed
    const fits = tokens + overhead <= left && count < MAX_SCHEMAS
    if (first.includes(rank) || !fits || (relevance < tie && !isFirst(rank, needs))) continue
    shares[rank] = tokens
    left -= tokens + overhead
    count++
  }
  return shares
}

/** Divides `room` among the hits at `ranks` by weight, and writes their `shares`; returns what is left. */
function shareOut(
  hits: readonly SchemaNeed[],
  ranks: readonly number[],
  { room, needs }: { room: number; needs: number },
  shares: number[],
): number {
  const best = hits[0]?.relevance ?? 0
  const weightOf = (rank: number) => {
    if (rank === 0) return BEST_WEIGHT
    return rank < needs || best === 0 ? 1 : ((hits[rank] as SchemaNeed).relevance / best) ** STEEPNESS
  }
  let left = Math.max(0, room)
  let open = [...ranks]
  for (;;) {
    const weights = open.reduce((sum, rank) => sum + weightOf(rank), 0)
    const fairOf = (rank: number) => (left * weightOf(rank)) / weights
    const fitting = open.filter(rank => (hits[rank] as SchemaNeed).tokens <= fairOf(rank))
    const settled = fitting.length > 0 ? fitting : open
    for (const rank of settled)
      shares[rank] = fitting.length > 0 ? (hits[rank] as SchemaNeed).tokens : Math.floor(fairOf(rank))
    left -= settled.reduce((sum, rank) => sum + (shares[rank] as number), 0)
    open = open.filter(rank => !settled.includes(rank))
    if (open.length === 0) return left
  }
}
