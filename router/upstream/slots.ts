/** Limits how many calls run at once against one server; a few more wait in a queue, first come first served. */
import type { Clock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'

const MAX_WAITING = 256
const MAX_WAIT_MS = 10_000

export type Slots = {
  /** Takes a slot: returns undefined if one is free, else a promise that resolves at its turn. Faults: upstream_busy, cancelled. */
  acquire(limit: number, signal: AbortSignal): Promise<void> | undefined
  /** Takes a slot even if none is free: for a call that released its own while its caller was asked. */
  retake(): void
  /** Releases a slot to the next waiting call. */
  release(limit: number): void
  /** Lets in the waiting calls that a new limit allows. */
  admit(limit: number): void
  active(): number
  waiting(): number
}

export function createSlots(clock: Clock): Slots {
  let active = 0
  const queue: (() => void)[] = []

  function wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (fault: Fault): void => {
        queue.splice(queue.indexOf(enter), 1)
        settle()
        reject(fault)
      }
      const onAbort = (): void =>
        leave(new Fault('cancelled', 'the caller disconnected while its call waited'))
      const timer = clock.after(MAX_WAIT_MS, () => leave(busy('waited too long for a free slot')))
      const settle = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', onAbort)
      }
      const enter = (): void => {
        settle()
        active++
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      queue.push(enter)
    })
  }

  function admit(limit: number): void {
    while (active < limit && queue.length > 0) queue.shift()?.()
  }

  return {
    acquire(limit, signal) {
      if (active < limit && queue.length === 0) {
        active++
        return undefined
      }
      return queue.length < MAX_WAITING ? wait(signal) : Promise.reject(busy('too many calls are waiting'))
    },
    retake() {
      active++
    },
    release(limit) {
      active--
      admit(limit)
    },
    admit,
    active: () => active,
    waiting: () => queue.length,
  }
}

function busy(message: string): Fault {
  return new Fault('upstream_busy', message, { retryable: true })
}
