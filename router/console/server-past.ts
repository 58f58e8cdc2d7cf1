/** The past of each server: its calls of the last five minutes, and its states of the last hour. */
import type { Clock } from '../../core/async.ts'
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { ConsoleServer } from '../../core/console/shapes.ts'
import { createSpread, type Spread } from './spread.ts'

const SLOT_MS = 30_000
const SLOTS = 10
const HISTORY_MS = 3_600_000
const MAX_CHANGES = 60
/** Limit of servers whose past is kept. Further servers have none. */
const MAX_SERVERS = 2_000

type Slot = { begin: number; calls: number; errors: number; times: number[] }
type Past = { slots: Slot[]; history: ConsoleServer['history'] }

/** How many durations of calls a slot keeps. */
const MAX_TIMES = 200

export type ServerPast = {
  called(server: string, failed: boolean, ms: number): void
  /** Records the states of all servers; call it whenever one may have changed. */
  noticed(servers: Iterable<RouterServer>): void
  of(server: string): Pick<ConsoleServer, 'recent' | 'history'>
}

export function createServerPast(clock: Clock): ServerPast {
  const pasts = new Map<string, Past>()
  const pastOf = (server: string): Past | undefined => {
    const known = pasts.get(server)
    if (known || pasts.size >= MAX_SERVERS) return known
    const past: Past = { slots: [], history: [] }
    pasts.set(server, past)
    return past
  }
  return {
    called(server, failed, ms) {
      const past = pastOf(server)
      if (!past) return
      const begin = Math.floor(clock.now() / SLOT_MS) * SLOT_MS
      let slot = past.slots.at(-1)
      if (slot?.begin !== begin) {
        slot = { begin, calls: 0, errors: 0, times: [] }
        past.slots.push(slot)
        if (past.slots.length > SLOTS) past.slots.shift()
      }
      slot.calls++
      if (failed) slot.errors++
      // A full slot replaces its times in turn.
      if (slot.times.length < MAX_TIMES) slot.times.push(ms)
      else slot.times[slot.calls % MAX_TIMES] = ms
    },
    noticed(servers) {
      const names = new Set<string>()
      for (const { name, status } of servers) {
        names.add(name)
        const history = pastOf(name)?.history
        if (!history || history.at(-1)?.state === status.state) continue
        history.push({ state: status.state, at: clock.now() })
        if (history.length > MAX_CHANGES) history.shift()
      }
      for (const name of pasts.keys()) if (!names.has(name)) pasts.delete(name)
    },
    of(server) {
      const { slots = [], history = [] } = pasts.get(server) ?? {}
      const recent = slots.filter(({ begin }) => begin > clock.now() - SLOTS * SLOT_MS)
      const times: Spread = createSpread()
      for (const ms of recent.flatMap(slot => slot.times)) times.add(ms)
      const begun = clock.now() - HISTORY_MS
      // The state at the beginning of the hour is the last one before it.
      const first = history.findLastIndex(({ at }) => at <= begun)
      return {
        recent: {
          calls: recent.reduce((sum, slot) => sum + slot.calls, 0),
          errors: recent.reduce((sum, slot) => sum + slot.errors, 0),
          p95Ms: times.quantiles()?.p95,
        },
        history: history.slice(Math.max(0, first)),
      }
    },
  }
}
