/** The system clock, which a test can move forward: timers that become due by that run at once. */
import { type Clock, systemClock, type Timer } from '../../core/async.ts'

export type ShiftingClock = Clock & { advance(ms: number): void }

type Entry = { at: number; run: () => void; timer: Timer }

export function createShiftingClock(): ShiftingClock {
  let shift = 0
  const entries = new Set<Entry>()
  const now = () => systemClock.now() + shift
  return {
    now,
    after(ms, run) {
      const fire = () => {
        entry.timer.cancel()
        if (entries.delete(entry)) run()
      }
      const entry: Entry = { at: now() + ms, run: fire, timer: systemClock.after(ms, () => fire()) }
      entries.add(entry)
      return {
        cancel: () => {
          entry.timer.cancel()
          entries.delete(entry)
        },
      }
    },
    advance(ms) {
      shift += ms
      const due = [...entries].filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at)
      for (const { run } of due) run()
    },
  }
}
