/** Limits the logins at /connect that browsers of one address may begin: otherwise one address could lock out all others. */
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { type Limited, spentAfter } from './limits.ts'
import { networkOf } from './network-of.ts'

export type LoginShares = {
  /** Counts a login that begins, until `leave` is called. Returns the limit that refuses it; then it is not counted. */
  enter(address: string | undefined): Limited | { leave(): void }
}

/** Half of the logins of all addresses that may be starting at a time (MAX_STARTING_LOGINS): each takes seconds if its issuer does not answer. */
const AT_ONCE = 8
const A_MINUTE = 30
const EVERY_MS = 60_000
const COST = { costMs: EVERY_MS / A_MINUTE, burstMs: EVERY_MS }
/** Addresses remembered; the oldest are forgotten first. */
const MAX_ADDRESSES = 100_000
const RETRY_MS = 1_000

/** Uses the generic cell rate algorithm, as all limits do: see limits.ts. */
export function createLoginShares(clock: Clock): LoginShares {
  const spentBy = new BoundedMap<number>(MAX_ADDRESSES)
  const begun = new Map<string, number>()
  const leave = (key: string): void => {
    const left = (begun.get(key) ?? 1) - 1
    if (left > 0) begun.set(key, left)
    else begun.delete(key)
  }
  return {
    enter(address = '') {
      const now = clock.elapsed()
      const key = networkOf(address)
      const running = begun.get(key) ?? 0
      if (running >= AT_ONCE) return { waitMs: RETRY_MS, text: `${AT_ONCE} logins of an address at once` }
      const spent = spentAfter(COST, spentBy, key, now)
      const waitMs = spent - now - COST.burstMs
      if (waitMs > 0) return { waitMs: Math.ceil(waitMs), text: `${A_MINUTE} logins of an address a minute` }
      spentBy.set(key, spent)
      begun.set(key, running + 1)
      return { leave: () => leave(key) }
    },
  }
}
