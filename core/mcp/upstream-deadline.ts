/** Deadlines for upstreams. */
import type { Clock } from '../async.ts'
import { type Deadline, deadline } from '../deadline.ts'

/** A signal that aborts with Fault upstream_timeout after `ms`, or with `parent` before that. */
export function upstreamDeadline(clock: Clock, ms: number, message: string, parent?: AbortSignal): Deadline {
  return deadline(clock, ms, message, parent, 'upstream_timeout')
}
