/** The delay before a failed operation is retried. Pure. */

/** The first delay and the upper limit of all later ones, in milliseconds. */
export type Backoff = { readonly firstMs: number; readonly longestMs: number }

/**
 * Milliseconds to wait after a failure that was preceded by `failures` consecutive others: `d/2 + random · d/2`, where
 * `d = min(longestMs, firstMs · 2^failures)`. This is "equal jitter" of the AWS Architecture Blog's "Exponential Backoff And Jitter":
 * clients that failed at the same time retry at different times, and none immediately. `random` returns 0 to 1.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: () => number): number {
  return (Math.min(firstMs * 2 ** failures, longestMs) * (1 + random())) / 2
}
