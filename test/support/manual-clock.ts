/** A clock that only advances when a test calls `advance`. */
import type { Clock } from '../../core/async.ts'

export type ManualClock = Clock & {
  /** Advances the time and runs the timers that are due, in order. */
  advance(ms: number): void
  /** Sets the time back, as an administrator does; timers run as long as before. */
  setBack(ms: number): void
  /** The number of waiting timers. */
  pending(): number
  /** The number of timers of this length that were started. */
  started(ms: number): number
}

export function createManualClock(start = 0): ManualClock {
  let now = start
  let waiting: { at: number; run: () => void }[] = []
  const lengths: number[] = []
  return {
    now: () => now,
    after(ms, run) {
      const entry = { at: now + ms, run }
      waiting.push(entry)
      lengths.push(ms)
      return {
        cancel: () => {
          waiting = waiting.filter(other => other !== entry)
        },
      }
    },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const next = waiting.filter(entry => entry.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        waiting = waiting.filter(entry => entry !== next)
        now = Math.max(now, next.at)
        next.run()
      }
      now = end
    },
    setBack(ms) {
      now -= ms
      for (const entry of waiting) entry.at -= ms
    },
    pending: () => waiting.length,
    started: ms => lengths.filter(length => length === ms).length,
  }
}
