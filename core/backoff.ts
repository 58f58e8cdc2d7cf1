/** How long to wait before something that failed is tried again. Pure. */

/** The waits before the second try and before all late ones, in milliseconds. */
export type Backoff = { readonly firstMs: number; readonly longestMs: number }

/**
 * Milliseconds to wait after a failure that followed `failures` others in a row: `d/2 + random · d/2`, where
 * `d = min(longestMs, firstMs · 2^failures)`. This is "equal jitter" of the AWS Architecture Blog's "Exponential Backoff And Jitter":
 * clients that failed together come back spread out, and none of them at once. `random` gives 0 to 1.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, failures: number, random: () => number): number {
  return (Math.min(firstMs * 2 ** failures, longestMs) * (1 + random())) / 2
}
