/** The injected clock, which tests replace by one that they advance by hand, and work in turns. */

export type Timer = { cancel(): void }

/** `now` is for times that others see or name; `elapsed` for how long something lasts, because the time of day can be set. */
export interface Clock {
  /** The time of day in milliseconds since the epoch. An administrator or a time service can set it, also back. */
  now(): number
  /** Whole milliseconds since a moment before the first use of the clock; nobody can set it. Does not count while the machine is suspended. */
  elapsed(): number
  /** Calls `run` once after `ms` milliseconds; the timer never keeps the process alive. */
  after(ms: number, run: () => void): Timer
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => Math.floor(performance.now()),
  // setTimeout warns about negative delays
  after: (ms, run) => new NodeTimer(setTimeout(run, Math.max(ms, 0)).unref()),
}

/** A class rather than a closure, because every call sets a timer. */
class NodeTimer implements Timer {
  readonly #timeout: NodeJS.Timeout

  constructor(timeout: NodeJS.Timeout) {
    this.#timeout = timeout
  }

  cancel(): void {
    clearTimeout(this.#timeout)
  }
}

/** Waits `ms` milliseconds; rejects with the signal's reason as soon as it aborts. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const stop = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = clock.after(ms, () => {
      signal?.removeEventListener('abort', stop)
      resolve()
    })
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** The results of `work` for each item, in their order; at most `atOnce` run at the same time. */
export async function inTurns<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const left = items.entries()
  const worker = async () => {
    for (const [at, item] of left) results[at] = await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}
