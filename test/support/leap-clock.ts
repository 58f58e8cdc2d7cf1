/** The system clock, which a test can set forward: long waits end immediately, short ones (such as for a process's end) stay real. */
import { type Clock, systemClock, type Timer } from '../../core/async.ts'

export type LeapClock = Clock & {
  /** Sets the clock forward and runs the timers that are due, in order. */
  advance(ms: number): void
}

export function createLeapClock(): LeapClock {
  let ahead = 0
  let waiting: { at: number; run: () => void; timer: Timer }[] = []
  const now = () => systemClock.now() + ahead
  return {
    now,
    elapsed: () => systemClock.elapsed() + ahead,
    after(ms, run) {
      const end = () => {
        waiting = waiting.filter(other => other !== entry)
        run()
      }
      const entry = { at: now() + ms, run: end, timer: systemClock.after(ms, end) }
      waiting.push(entry)
      return {
        cancel() {
          entry.timer.cancel()
          waiting = waiting.filter(other => other !== entry)
        },
      }
    },
    advance(ms) {
      ahead += ms
      for (const entry of waiting.filter(({ at }) => at <= now()).sort((a, b) => a.at - b.at)) {
        entry.timer.cancel()
        if (waiting.includes(entry)) entry.run()
      }
    },
  }
}
