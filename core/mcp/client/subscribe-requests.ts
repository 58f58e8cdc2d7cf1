/** The requests with which a 2025 session subscribes to a resource. */
import type { Clock } from '../../async.ts'
import { OURSELVES } from '../caller.ts'
import type { McpResponse } from '../protocol/json-rpc.ts'
import type { UpstreamCall } from '../upstream.ts'
import { upstreamDeadline } from '../upstream-deadline.ts'

const MAX_ANSWER_BYTES = 64 * 1024
const UNSUBSCRIBE_TIMEOUT_MS = 2_000

export function subscribeCall(uri: string): UpstreamCall {
  return { method: 'resources/subscribe', params: { uri }, caller: OURSELVES, maxBytes: MAX_ANSWER_BYTES }
}

/** Sends `resources/unsubscribe`, best effort. */
export async function unsubscribe(
  uri: string,
  clock: Clock,
  ask: (call: UpstreamCall, signal: AbortSignal) => Promise<McpResponse | 'lost'>,
): Promise<void> {
  const limit = upstreamDeadline(clock, UNSUBSCRIBE_TIMEOUT_MS, 'resources/unsubscribe took too long')
  await ask({ ...subscribeCall(uri), method: 'resources/unsubscribe' }, limit.signal).catch(() => {})
  limit.clear()
}
