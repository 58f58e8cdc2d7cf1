/** The interface of one MCP session with an upstream over HTTP or SSE. */
import type { JsonObject } from '../../../json.ts'
import type { McpResponse, Notification, ServerRequest } from '../../protocol/json-rpc.ts'
import type { Era } from '../../protocol/revisions.ts'
import type { UpstreamCall, UpstreamInfo } from '../../upstream.ts'
import type { SubscribableSession } from '../resource-subscriptions.ts'

export type Session = SubscribableSession & {
  readonly info: UpstreamInfo
  /** `lost`: the upstream no longer knows the session, and did not execute the request. */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse | 'lost'>
  /** Sends a notification, best effort. */
  tell(notification: Notification): void
  /** Ends the session at the upstream, best effort. */
  close(): Promise<void>
}

export type SessionHooks = {
  /** The capabilities to declare in the handshake. */
  capabilities: JsonObject
  /** The era to try first, unless the upstream is known not to speak it. */
  prefers: Era
  /** The session belongs to one client, which receives all messages outside a call's stream. */
  own: boolean
  /** Whether to listen for messages between calls. */
  listen: boolean
  /** A notification that belongs to no call. */
  notified(notification: Notification): void
  /** Asks the session's client if no call can; returns undefined if it cannot be asked. */
  asked(request: ServerRequest, signal: AbortSignal): Promise<McpResponse> | undefined
  /** A broken stream is open again; updates of resources in between are lost. */
  reopened(): void
  /** Changes of lists may have been lost too: they are to be read again. */
  missedLists(): void
  /** The session ended by itself; it is not used again. */
  lost(): void
}

export type OpenSession = (hooks: SessionHooks, signal: AbortSignal) => Promise<Session>
