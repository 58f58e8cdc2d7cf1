/** How soon a server that says that its lists changed is asked again: one whose lists turn out to be the same, ever later. Pure. */

const MAX_GAP_MS = 60_000

/** The next pause; `firstMs` is the shortest. */
export function nextGapMs(gapMs: number, firstMs: number, wasInVain: boolean): number {
  return wasInVain ? Math.min(gapMs * 2, MAX_GAP_MS) : firstMs
}
