/** The source of a laptop: whoever runs in the same process publishes snapshots, the router watches them. */
import type { Snapshot, Source } from './source.ts'

export type InProcessSource = Source & {
  /** Makes a snapshot the newest. Throws where its generation is not greater than the last. */
  publish(snapshot: Snapshot): void
}

export function createInProcessSource(): InProcessSource {
  let newest: Snapshot | undefined
  const watchers = new Set<() => void>()

  /** Resolves at the next snapshot or when `signal` aborts. */
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
    publish(snapshot) {
      if (newest && snapshot.generation <= newest.generation) {
        throw new Error(`generation ${snapshot.generation} is not newer than ${newest.generation}`)
      }
      newest = snapshot
      for (const wake of [...watchers]) wake()
    },
    async *watch(signal) {
      let seen: Snapshot | undefined
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
