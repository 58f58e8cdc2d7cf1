/** If callers are distinguished by credentials: the share of a limit that one caller, and that all anonymous callers together, may use. */
const SHARE_OF_A_CALLER = 1 / 16
const SHARE_OF_ANONYMOUS = 1 / 2

/** `caller`: the id of its identity. */
export function shareOf(caller: string, limit: number): number {
  return Math.ceil(limit * (caller === '' ? SHARE_OF_ANONYMOUS : SHARE_OF_A_CALLER))
}
