/** A queue that runs one job at a time; waiting jobs are limited in number and can be cancelled. */
import { Fault } from '../errors.ts'

/** Returns the result of `work`. Rejects with Fault `cancelled` as soon as the signal aborts, and `unavailable` if the queue is full. */
export type SerialQueue = <Result>(work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result>

/** A running job is not interrupted by its signal: the next one still waits for its end. */
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
        new Fault('unavailable', 'The sentence encoder is overloaded', { retryable: true }),
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
  return new Fault('cancelled', 'The encoding of a text was cancelled', { cause: signal?.reason })
}
