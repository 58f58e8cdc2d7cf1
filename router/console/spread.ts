/** Counts durations in buckets that grow by a tenth, so that quantiles cost no memory per value. Pure. */
import type { Quantiles } from '../../core/console/shapes.ts'

const SHORTEST_MS = 0.01
const GROWTH = 1.1
/** From a hundredth of a millisecond to half an hour. */
const BUCKETS = 200

export type Spread = {
  add(ms: number): void
  count(): number
  /** Within 10 %; undefined without values. */
  quantiles(): Quantiles | undefined
}

export function createSpread(): Spread {
  const counts = new Uint32Array(BUCKETS)
  let count = 0
  /** A quantile in milliseconds. */
  const at = (share: number): number => {
    let left = Math.ceil(share * count)
    const bucket = counts.findIndex(inBucket => {
      left -= inBucket
      return left <= 0
    })
    return Math.round(SHORTEST_MS * GROWTH ** bucket * 100) / 100
  }
  return {
    add(ms) {
      const bucket = Math.ceil(Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / Math.log(GROWTH))
      const place = Math.min(BUCKETS - 1, bucket)
      counts[place] = (counts[place] as number) + 1
      count++
    },
    count: () => count,
    quantiles: () => (count === 0 ? undefined : { p50: at(0.5), p95: at(0.95) }),
  }
}
