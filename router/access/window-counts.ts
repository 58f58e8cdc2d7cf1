/**
 * Counts the requests of each caller in a sliding window of time, at all routers of a gateway. The window is divided into slots; there is a grow-only
 * counter for each router, caller and slot.
 */
import type { Clock } from '../../core/async.ts'

export type WindowCounts = {
  /** Milliseconds until one more request is allowed; 0: now. */
  waitMs(caller: string, bound: Bound): number
  /** Counts a request at this router. */
  add(caller: string): void
  /** What changed after a revision: at this router, or at `all`. */
  changes(after: number, all: boolean): Change[]
  /** Takes what another router counted. Ignores what is older than the window, or in the future of this clock. */
  merge(change: Omit<Change, 'revision'>): void
  /** Called before counts are sent to the other routers. Call the function that it returns once all of them have these counts. */
  mark(): () => void
}

/** `routers`: how many routers share what is left of the limit until they have exchanged their counts. */
export type Bound = { limit: number; routers: number }

/** A router's count of a caller in a slot. `slot`: the time since 1970 in units of a slot. */
export type Change = { slot: number; router: string; caller: string; count: number; revision: number }

/** How often routers tell each other what they have counted. */
export const EXCHANGE_MS = 1_000
/** Slots of a window. One slot more is counted, so that no period of the window's length has more requests than the limit. */
const SLOTS = 8
/** Counts kept for one limit; when there are more, those of the oldest slot are forgotten. */
const MAX_COUNTS = 200_000

/** `revise`: the next number of this router's revisions. */
export type CountingRouter = { router: string; revise: () => number; clock: Clock }

export function createWindowCounts(everyMs: number, self: CountingRouter): WindowCounts {
  const { router, clock } = self
  const { slotMs, slots, now, isCurrent, set } = createSlots(everyMs, self)

  /** Returns the time at which so many slots have ended that fewer than `limit` are left. */
  function freeAt(caller: string, total: number, limit: number): number {
    let left = total
    for (const [at, { sums }] of [...slots].sort(([a], [b]) => a - b)) {
      left -= sums.get(caller) ?? 0
      if (left < limit) return (at + 1 + SLOTS) * slotMs
    }
    return clock.now() + everyMs
  }

  return {
    waitMs(caller, { limit, routers }) {
      now()
      let total = 0
      let untold = 0
      for (const slot of slots.values()) {
        total += slot.sums.get(caller) ?? 0
        untold += slot.untold.get(caller) ?? 0
      }
      if (total >= limit) return freeAt(caller, total, limit) - clock.now()
      const share = Math.max(1, Math.floor((limit - total + untold) / routers))
      return untold < share ? 0 : EXCHANGE_MS
    },
    add(caller) {
      const at = now()
      const before = slots.get(at)?.byRouter.get(router)?.get(caller)?.count ?? 0
      const { untold } = set(at, router, caller, before + 1)
      untold.set(caller, (untold.get(caller) ?? 0) + 1)
    },
    changes(after, all) {
      now()
      return [...slots].flatMap(([slot, { byRouter }]) =>
        [...byRouter].flatMap(([of, counts]) =>
          all || of === router ? changed(counts, after).map(change => ({ slot, router: of, ...change })) : [],
        ),
      )
    },
    merge({ slot, router: of, caller, count }) {
      if (of !== router && isCurrent(slot, now())) set(slot, of, caller, count)
    },
    mark() {
      const marked = [...slots.values()].map(({ untold }) => [untold, new Map(untold)] as const)
      return () => {
        for (const [untold, counted] of marked)
          for (const [caller, count] of counted) {
            const left = (untold.get(caller) ?? 0) - count
            if (left > 0) untold.set(caller, left)
            else untold.delete(caller)
          }
      }
    },
  }
}

type Counts = Map<string, { count: number; revision: number }>
type Slot = {
  sums: Map<string, number>
  byRouter: Map<string, Counts>
  /** Of the counts of this router, those that another router may not know. */
  untold: Map<string, number>
  size: number
}

/** The counts of a window, by slots of time. */
function createSlots(everyMs: number, { revise, clock }: CountingRouter) {
  const slotMs = everyMs / SLOTS
  const slots = new Map<number, Slot>()
  let newest = Number.NaN
  const isCurrent = (at: number, now: number) => at >= now - SLOTS && at <= now + 1
  return {
    slotMs,
    slots,
    isCurrent,
    /** The current slot. Forgets slots that are over, and those in the future if the clock was set back: they would count for too long. */
    now(): number {
      const now = Math.floor(clock.now() / slotMs)
      if (now !== newest) for (const at of slots.keys()) if (!isCurrent(at, now)) slots.delete(at)
      newest = now
      return now
    },
    /** Raises a count to `count`. A count that is not higher changes nothing: it is known already. */
    set(at: number, router: string, caller: string, count: number): Slot {
      const slot = slots.get(at) ?? { sums: new Map(), byRouter: new Map(), untold: new Map(), size: 0 }
      slots.set(at, slot)
      const counts: Counts = slot.byRouter.get(router) ?? new Map()
      slot.byRouter.set(router, counts)
      const before = counts.get(caller)?.count ?? 0
      if (count <= before) return slot
      if (before === 0) slot.size++
      counts.set(caller, { count, revision: revise() })
      slot.sums.set(caller, (slot.sums.get(caller) ?? 0) + count - before)
      forgetOldest(slots)
      return slot
    },
  }
}

function forgetOldest(slots: Map<number, Slot>): void {
  let size = 0
  for (const slot of slots.values()) size += slot.size
  if (size > MAX_COUNTS) slots.delete(Math.min(...slots.keys()))
}

function changed(counts: Counts, after: number) {
  return [...counts].flatMap(([caller, found]) => (found.revision > after ? [{ caller, ...found }] : []))
}
