/** How long pods may take to end: calls in flight are answered first, however long they may take. Pure. */

/** Calls may usually take this long, so that a changed timeout replaces no pods. It costs nothing: a pod without calls ends at once. */
const LEAST_DRAIN_SECONDS = 600
/** The preStop pause, and the time in which children end. */
export const PRE_STOP_SECONDS = 5
const CLOSING_SECONDS = 20

export type Shutdown = {
  /** How long to wait for calls, as a duration. */
  drain: string
  /** terminationGracePeriodSeconds. */
  graceSeconds: number
}

/** For pods that answer calls which may take as long as one of these timeouts. */
export function shutdownOf(callTimeoutsMs: readonly number[]): Shutdown {
  const seconds = Math.max(LEAST_DRAIN_SECONDS, ...callTimeoutsMs.map(ms => Math.ceil(ms / 1_000)))
  return { drain: `${seconds}s`, graceSeconds: PRE_STOP_SECONDS + seconds + CLOSING_SECONDS }
}
