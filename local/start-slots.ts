/** Limits concurrent heavy work. A slot is released after a bounded time, so that hanging work does not block the rest. */
import type { Clock } from '../core/async.ts'

export type Slots = {
  /** Runs `work` as soon as a slot is free, in order of arrival; the slot is released when it ends or after `lendMs`. */
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
