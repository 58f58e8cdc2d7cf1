/** A few slots for heavy work, each lent for a bounded time, so that work that hangs does not hold up the rest. */
import type { Clock } from '../core/async.ts'

export type Slots = {
  /** Runs `work` as soon as a slot is free, in order of arrival; the slot comes back when it ends or `lendMs` are over. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createSlots(options: { count: number; lendMs: number; clock: Clock }): Slots {
  let free = options.count
  const waiting: (() => void)[] = []
  const giveBack = () => {
    const next = waiting.shift()
    if (next) next()
    else free++
  }
  return {
    async run(work) {
      if (free > 0) free--
      else await new Promise<void>(resolve => waiting.push(resolve))
      let lent = true
      const back = () => {
        if (lent) giveBack()
        lent = false
      }
      const timer = options.clock.after(options.lendMs, back)
      try {
        return await work()
      } finally {
        timer.cancel()
        back()
      }
    },
  }
}
