/** Sends what nobody waits for: notifications, replies, the end of a session. */
import type { Clock } from '../../../async.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'

export const TELL_TIMEOUT_MS = 2_000
/** The largest response to it. */
export const MAX_TELL_BYTES = 64 * 1024

/** Never rejects. `stop` ends it earlier than the timeout. */
export async function bestEffort(
  clock: Clock,
  send: (signal: AbortSignal) => Promise<unknown>,
  stop?: AbortSignal,
): Promise<void> {
  const limit = upstreamDeadline(clock, TELL_TIMEOUT_MS, 'Not accepted in time', stop)
  try {
    await send(limit.signal)
  } catch {
    // Not accepted, or too deep to be written as JSON.
  } finally {
    limit.clear()
  }
}
