/** A clock that only advances when a test calls `advance`. */
import type { Clock } from '../../core/async.ts'

export type ManualClock = Clock & {
  /** Advances the time and runs the timers that are due, in order. */
  advance(ms: number): void
  /** Sets the time of day back, as an administrator does; timers run as long as before. */
  setBack(ms: number): void
  /** Suspends the machine: only the time of day goes on. */
  suspend(ms: number): void
  /** The number of waiting timers. */
  pending(): number
  /** The number of timers of this length that were started. */
  started(ms: number): number
}

export function createManualClock(start = 0): ManualClock {
  let elapsed = 0
  let startedAt = start
  let waiting: { at: number; run: () => void }[] = []
  const lengths: number[] = []
  return {
    now: () => startedAt + elapsed,
    elapsed: () => elapsed,
    after(ms, run) {
      const entry = { at: elapsed + ms, run }
      waiting.push(entry)
      lengths.push(ms)
      return {
        cancel: () => {
          waiting = waiting.filter(other => other !== entry)
        },
      }
    },
    advance(ms) {
      const end = elapsed + ms
      for (;;) {
        const next = waiting.filter(entry => entry.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        waiting = waiting.filter(entry => entry !== next)
        elapsed = Math.max(elapsed, next.at)
        next.run()
      }
      elapsed = end
    },
    setBack(ms) {
      startedAt -= ms
    },
    suspend(ms) {
      startedAt += ms
    },
    pending: () => waiting.length,
    started: ms => lengths.filter(length => length === ms).length,
  }
}
