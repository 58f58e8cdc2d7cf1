/** What discovery remembers of asking one server. Pure. */
import { createSchedule, type Schedule } from '../../core/mcp/discovery/schedule.ts'
import type { Target } from './discovery-targets.ts'

export type Memory = {
  uid: string | undefined
  /** What was last asked, of which pods, at whose wish; undefined: it has to be asked. */
  asked?: string
  revision?: string
  schedule: Schedule
  /** Since when its pods are ready. */
  servingSince?: number
}

export function createMemory(uid: string | undefined, random: () => number): Memory {
  return { uid, schedule: createSchedule(random) }
}

/** All that a list depends on; `refresh` is the wish of a person. */
export function wantedOf({ endpoint, revision }: Target, refresh: string): string {
  return JSON.stringify([endpoint.revision, revision, refresh])
}
