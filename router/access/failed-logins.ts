/** Limits how often credentials may fail for an address: 20 a minute. */
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { Refused } from './bearer.ts'
import { type Limited, spentAfter } from './limits.ts'
import { networkOf } from './network-of.ts'

export type FailedLogins = {
  /** Counts a refused credential. Returns the limit if there were too many; then this one is not counted. */
  failed(refused: Refused, address: string | undefined): Limited | undefined
}

const FAILURES = 20
const EVERY_MS = 60_000
const COST = { costMs: EVERY_MS / FAILURES, burstMs: EVERY_MS }
/** Addresses remembered; the oldest are forgotten first. */
const MAX_ADDRESSES = 100_000
const TEXT = `${FAILURES} failed logins a minute`

/** Uses the generic cell rate algorithm, as all limits do: see limits.ts. */
export function createFailedLogins(clock: Clock): FailedLogins {
  const spentBy = new BoundedMap<number>(MAX_ADDRESSES)
  return {
    failed(refused, address = '') {
      if (!isFailure(refused)) return undefined
      const now = clock.elapsed()
      const key = networkOf(address)
      const spent = spentAfter(COST, spentBy, key, now)
      const waitMs = spent - now - COST.burstMs
      if (waitMs > 0) return { waitMs: Math.ceil(waitMs), text: TEXT }
      spentBy.set(key, spent)
      return undefined
    },
  }
}

/** Not every refusal is a failure of the client: logins begin without a token, a valid token may lack scopes, and keys may be unavailable. */
function isFailure({ reason, status }: Refused): boolean {
  return status !== 503 && reason !== 'NoToken' && reason !== 'MissingScopes'
}
