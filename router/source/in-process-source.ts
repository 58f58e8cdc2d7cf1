/** The source of a laptop: whoever runs in the same process publishes snapshots, the router watches them. */
import { createNewest } from './newest.ts'
import type { Snapshot, Source } from './source.ts'

export type InProcessSource = Source & {
  /** Makes a snapshot the newest. Throws where its generation is not greater than the last. */
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
