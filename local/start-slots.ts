/** Limits concurrent heavy work. A slot is released after a limited time, so that work that hangs does not block the rest. */
import type { Clock } from '../core/async.ts'

export type Slots = {
  /** Runs `work` as soon as a slot is free, in order of arrival; the slot is released when it ends or after `maxHoldMs`. */
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createSlots(options: { count: number; maxHoldMs: number; clock: Clock }): Slots {
  let available = options.count
  const waiting: (() => void)[] = []
  const free = () => {
    const next = waiting.shift()
    if (next) next()
    else available++
  }
  return {
    async run(work) {
      if (available > 0) available--
      else await new Promise<void>(resolve => waiting.push(resolve))
      let held = true
      const release = () => {
        if (held) free()
        held = false
      }
      const timer = options.clock.after(options.maxHoldMs, release)
      try {
        return await work()
      } finally {
        timer.cancel()
        release()
      }
    },
  }
}
