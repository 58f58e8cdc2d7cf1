/** Decides which users get or keep an instance of a server: those who wait for one or have used theirs lately, up to `users.max`. Pure. */
import { idOfUser } from '../../core/mcp/user.ts'

/** The reports of all routers, added up; users are identified by their digests. */
export type UserDemand = {
  /** False while the report of a router is missing: then no instance is ended. */
  isKnown: boolean
  /** Users whose calls wait for an instance. */
  waiting: readonly string[]
  /** When a router last used the instance of a user, in milliseconds since the epoch. */
  used: ReadonlyMap<string, number>
}

export type InstancesInput = {
  max: number
  idleAfterMs: number
  /** Users who have an instance. */
  existing: readonly string[]
  /** Whether a user may have an instance: not if a required Secret is missing. */
  admits: (user: string) => boolean
  demand: UserDemand
  /** `usedAtMs` of the last decision. It is lost when another operator becomes leader; then instances only end later. */
  usedAtMs: ReadonlyMap<string, number>
  now: number
}

export type Instances = {
  /** Users who get or keep an instance; sorted. */
  wanted: string[]
  /** Users who wait for an instance while the maximum is reached. */
  refused: string[]
  /** When each of `wanted` last used the instance; for the next decision. */
  usedAtMs: Map<string, number>
  /** Decide again after this time even if nothing happens. */
  afterMs?: number
}

/** How much longer than `idleAfterMs` an instance lives, so that routers close the connections of an idle user before it ends. */
export const MARGIN_MS = 5_000
const MIN_WAIT_MS = 1_000
/** While a report is missing, no instance ends. The report causes a decision, but a gateway may be deleted before its routers send one. */
const UNKNOWN_WAIT_MS = 30_000

/** Existing instances end only when they are idle or not admitted any more, even if there are more than `max`; those who wait get the places that are free. */
export function decideInstances(input: InstancesInput): Instances {
  const { max, existing, admits, demand, now } = input
  const dueAtMs = (user: string) => lastUseMs(input, user) + input.idleAfterMs + MARGIN_MS
  const kept = existing.filter(user => admits(user) && (!demand.isKnown || dueAtMs(user) > now)).sort()
  const ids = new Set(kept.map(idOfUser))
  const wanted = [...kept]
  const refused: string[] = []
  for (const user of [...new Set(demand.waiting)].sort()) {
    if (kept.includes(user) || !admits(user)) continue
    if (wanted.length >= max || ids.has(idOfUser(user))) refused.push(user)
    else {
      ids.add(idOfUser(user))
      wanted.push(user)
    }
  }
  wanted.sort()
  const usedAtMs = new Map(wanted.map(user => [user, lastUseMs(input, user)]))
  return {
    wanted,
    refused,
    usedAtMs,
    ...(wanted.length > 0 && {
      afterMs: Math.max(
        demand.isKnown ? MIN_WAIT_MS : UNKNOWN_WAIT_MS,
        Math.min(...wanted.map(dueAtMs)) - now,
      ),
    }),
  }
}

/** An instance without a known last use counts as used now: the router that knows it may be restarting. */
function lastUseMs({ demand, usedAtMs, now }: InstancesInput, user: string): number {
  if (demand.waiting.includes(user)) return now
  return Math.max(demand.used.get(user) ?? 0, usedAtMs.get(user) ?? 0) || now
}
