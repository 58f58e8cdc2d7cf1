/** What discovery remembers about one server. Pure. */
import { createSchedule, type Schedule } from '../../core/mcp/discovery/schedule.ts'
import type { Target } from './discovery-targets.ts'

export type Memory = {
  uid: string | undefined
  /** Result of `wantedOf` at the last discovery; undefined if discovery is due. */
  asked?: string
  /** Revision of the target at the last discovery. */
  revision?: string
  schedule: Schedule
  /** When its pods became ready. */
  servingSince?: number
}

export function createMemory(uid: string | undefined, random: () => number): Memory {
  return { uid, schedule: createSchedule(random) }
}

/** Everything a list depends on; `refresh` is the value of the annotation that requests a discovery. */
export function wantedOf({ endpoint, revision }: Target, refresh: string): string {
  return JSON.stringify([endpoint.revision, revision, refresh])
}
