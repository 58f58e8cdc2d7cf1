/** How long pods may take to terminate: calls in flight are answered first, up to the longest call timeout. Pure. */

/** Longer than most call timeouts, so that a changed timeout rarely replaces pods. This costs nothing: a pod without calls ends at once. */
const MIN_DRAIN_SECONDS = 600
/** The pause before SIGTERM. */
export const PRE_STOP_SECONDS = 5
/** How long child processes may take to end. */
const CLOSING_SECONDS = 20

export type Shutdown = {
  /** How long to wait for calls, as a duration. */
  drain: string
  /** terminationGracePeriodSeconds. */
  graceSeconds: number
}

/** For pods that answer calls with these timeouts. */
export function shutdownOf(callTimeoutsMs: readonly number[]): Shutdown {
  const seconds = Math.max(MIN_DRAIN_SECONDS, ...callTimeoutsMs.map(ms => Math.ceil(ms / 1_000)))
  return { drain: `${seconds}s`, graceSeconds: PRE_STOP_SECONDS + seconds + CLOSING_SECONDS }
}
