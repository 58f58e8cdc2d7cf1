/** Work that is done one after the other: what waits is bounded, and can be cancelled. */
import { Fault } from '../errors.ts'

/** Settles as `work` does; throws Fault `cancelled` as soon as the signal aborts, and `io` where too much waits already. */
export type SerialQueue = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>

/** Work that has begun is not broken off by its signal: what comes after it waits for its end. */
export function createSerialQueue(maxWaiting: number): SerialQueue {
  const waiting = new Set<() => Promise<void>>()
  let busy = false
  const drain = async () => {
    if (busy) return
    busy = true
    for (const run of waiting) {
      waiting.delete(run)
      await run()
    }
    busy = false
  }
  return (work, signal) => {
    if (signal?.aborted) return Promise.reject(cancelled(signal))
    if (waiting.size >= maxWaiting)
      return Promise.reject(
        new Fault('unavailable', 'The sentence encoder has too much to do', { retryable: true }),
      )
    return new Promise((resolve, reject) => {
      const run = async () => {
        await work().then(resolve, reject)
        signal?.removeEventListener('abort', stop)
      }
      const stop = () => {
        waiting.delete(run)
        reject(cancelled(signal))
      }
      signal?.addEventListener('abort', stop, { once: true })
      waiting.add(run)
      void drain()
    })
  }
}

function cancelled(signal?: AbortSignal): Fault {
  return new Fault('cancelled', 'Nobody waits for the sentence vector any more', { cause: signal?.reason })
}
