/** One MCP session with an upstream, whatever carries it over HTTP. */
import type { Notification, UpstreamAnswer, UpstreamCall, UpstreamInfo } from '../upstream.ts'

export type Session = {
  readonly info: UpstreamInfo
  /** `lost`: the upstream does not know the session any more and surely did nothing with the request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer | 'lost'>
  /** Ends calls in flight with a Fault and tells the upstream, best effort. */
  close(): Promise<void>
}

export type SessionHooks = {
  /** A notification that belongs to no call. */
  notified(notification: Notification): void
  /** The session ended by itself; it is not used again. */
  lost(): void
  /** Whether to listen for what the upstream says between calls. */
  listen: boolean
}

export type OpenSession = (hooks: SessionHooks, signal: AbortSignal) => Promise<Session>
