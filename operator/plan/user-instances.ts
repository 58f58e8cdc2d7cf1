/** Decides which users have an instance of a server: those who wait for one or have used theirs lately, up to `users.max`. Pure. */
import { idOfUser } from '../../core/mcp/user.ts'

/** The reports of all routers together; users are named by their digests. */
export type UserDemand = {
  /** False while the report of a router is missing: then no instance is ended. */
  isKnown: boolean
  /** Those whose calls wait for an instance. */
  wished: readonly string[]
  /** When a router last used the instance of a user, in milliseconds since the epoch. */
  used: ReadonlyMap<string, number>
}

export type InstancesInput = {
  max: number
  idleAfterMs: number
  /** Those who have an instance. */
  standing: readonly string[]
  /** Whether a user may have an instance: not if a required Secret is missing. */
  admits: (user: string) => boolean
  demand: UserDemand
  /** Of the last decision; lost when another operator leads, which only delays an end. */
  usedAtMs: ReadonlyMap<string, number>
  now: number
}

export type Instances = {
  /** Those who have one now; sorted. */
  wanted: string[]
  /** Users who wait for an instance while the maximum is reached. */
  refused: string[]
  usedAtMs: Map<string, number>
  /** Decide again after this time even if nothing happens. */
  afterMs?: number
}

/** Routers close the connections of an idle user themselves, before the instance ends. */
export const MARGIN_MS = 5_000

export function decideInstances(input: InstancesInput): Instances {
  const { max, standing, admits, demand, now } = input
  const dueMs = (user: string) => lastUseMs(input, user) + input.idleAfterMs + MARGIN_MS
  const kept = standing.filter(user => admits(user) && (!demand.isKnown || dueMs(user) > now)).sort()
  const ids = new Set(kept.map(idOfUser))
  const wanted = [...kept]
  const refused: string[] = []
  for (const user of [...new Set(demand.wished)].sort()) {
    // A user without the required Secret gets no instance.
    if (kept.includes(user) || !admits(user)) continue
    if (wanted.length >= max || ids.has(idOfUser(user))) refused.push(user)
    else {
      ids.add(idOfUser(user))
      wanted.push(user)
    }
  }
  wanted.sort()
  const usedAtMs = new Map(wanted.map(user => [user, lastUseMs(input, user)]))
  return { wanted, refused, usedAtMs, ...(wanted.length > 0 && { afterMs: restMs(wanted.map(dueMs), now) }) }
}

/** An instance without a known last use counts as used now, since its user's router may just be restarting. */
function lastUseMs({ demand, usedAtMs, now }: InstancesInput, user: string): number {
  if (demand.wished.includes(user)) return now
  return Math.max(demand.used.get(user) ?? 0, usedAtMs.get(user) ?? 0) || now
}

function restMs(dues: readonly number[], now: number): number {
  return Math.max(1_000, Math.min(...dues) - now)
}
