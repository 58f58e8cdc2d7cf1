/** One MCP session with an upstream, whatever carries it over HTTP. */
import type { JsonObject } from '../../../json.ts'
import type { McpResponse, Notification, ServerRequest } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { UpstreamCall, UpstreamInfo } from '../../upstream.ts'
import type { SubscribableSession } from '../resource-subscriptions.ts'

export type Session = SubscribableSession & {
  readonly info: UpstreamInfo
  /** `lost`: the upstream does not know the session any more and surely did nothing with the request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'>
  /** Sends a notification, best effort. */
  tell(notification: Notification): void
  /** Ends calls in flight with a Fault and tells the upstream, best effort. */
  close(): Promise<void>
}

export type SessionHooks = {
  /** What the session's client can be asked for: declared in the handshake. */
  capabilities: JsonObject
  /** The era to try first, where it is not known that the upstream does not speak it. */
  prefers: Era
  /** The session belongs to one client: what comes outside a call's stream is for it. */
  own: boolean
  /** Whether to listen for what the upstream says between calls. */
  listen: boolean
  /** A notification that no call took. */
  notified(notification: Notification): void
  /** Asks the client of the session while no call can; undefined: it cannot be asked. */
  asked(request: ServerRequest, signal: AbortSignal): Promise<McpResponse> | undefined
  /** A stream that broke is open again: what was said in between is lost. `down`: the upstream was away for a while. */
  reopened(down: boolean): void
  /** The session ended by itself; it is not used again. */
  lost(): void
}

export type OpenSession = (hooks: SessionHooks, signal: AbortSignal) => Promise<Session>
