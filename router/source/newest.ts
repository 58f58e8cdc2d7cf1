/** Holds the newest value for any number of watchers, which skip values they were too slow to see. */

export type Newest<Value> = {
  publish(value: Value): void
  current(): Value | undefined
  /** Yields the current value at once, then the newest one whenever it has changed; ends when `signal` aborts. */
  watch(signal: AbortSignal): AsyncGenerator<Value, void>
}

export function createNewest<Value extends object>(): Newest<Value> {
  let newest: Value | undefined
  const watchers = new Set<() => void>()

  /** Resolves at the next value or when `signal` aborts. */
  const changed = (signal: AbortSignal) =>
    new Promise<void>(resolve => {
      const wake = () => {
        watchers.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      watchers.add(wake)
      signal.addEventListener('abort', wake)
    })

  return {
    publish(value) {
      newest = value
      for (const wake of [...watchers]) wake()
    },
    current: () => newest,
    async *watch(signal) {
      let seen: Value | undefined
      while (!signal.aborted) {
        if (newest === seen || newest === undefined) await changed(signal)
        else {
          seen = newest
          yield seen
        }
      }
    },
  }
}
