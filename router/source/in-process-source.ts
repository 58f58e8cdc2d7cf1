/** The source on a laptop: code in the same process publishes snapshots, and the router watches them. */
import { createNewest } from './newest.ts'
import type { Snapshot, Source } from './source.ts'

export type InProcessSource = Source & {
  /** Publishes a snapshot. Throws if its generation is not greater than the last one's. */
  publish(snapshot: Snapshot): void
}

export function createInProcessSource(): InProcessSource {
  const newest = createNewest<Snapshot>()
  return {
    publish(snapshot) {
      const last = newest.current()
      if (last && snapshot.generation <= last.generation) {
        throw new Error(`generation ${snapshot.generation} is not newer than ${last.generation}`)
      }
      newest.publish(snapshot)
    },
    watch: newest.watch,
  }
}
