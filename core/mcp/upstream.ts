/** An upstream MCP server of either era, behind any transport: stdio child, streamable HTTP or SSE. */
import type { JsonObject } from '../json.ts'
import { type Caller, createCaller } from './caller.ts'
import type { McpResponse, Notification, ServerRequest } from './protocol/json-rpc.ts'
import type { Era } from './protocol/revisions.ts'

export interface Upstream {
  /**
   * Starts the upstream if it is not running (child process, handshake); concurrent callers share one start.
   * Throws Fault upstream_unreachable, upstream_timeout, upstream_auth_required, upstream_protocol, cancelled.
   * `caller`: whose session an upstream over HTTP opens; absent: that of discovery.
   */
  connect(signal: AbortSignal, caller?: Caller): Promise<UpstreamInfo>
  /**
   * Sends one request and waits for its answer. Connects first if needed. When `signal` aborts, sends `notifications/cancelled` and
   * rejects with Fault `cancelled`, or with the signal's reason if that is a Fault. A JSON-RPC error is an answer, not a fault.
   */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse>
  /** Reports state changes and changed lists until `close`. Returns the unsubscribe function. */
  onEvent(listener: (event: UpstreamEvent) => void): () => void
  /**
   * Forwards updates of one resource (`notifications/resources/updated`) until `signal` aborts, and resubscribes after lost sessions
   * and restarts. Resolves with the upstream's answer, which may be an error. Absent: no resource can be subscribed to.
   */
  subscribe?(subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** For `sessions: perClient`: sets the receiver of notifications and questions between a client's calls. Absent: there are none. */
  attach?(listener: SessionListener): void
  /** Forwards a client's notification, such as `notifications/roots/list_changed`, to its own session; ignored if the session is shared. */
  tell?(client: string, notification: Notification): void
  /** Ends the session and the calls in flight of a client that has gone. Absent: there is no state per client. */
  forget?(client: string): void
  /** The number of sessions that belong to a single client, whose state is lost when the server stops. Absent: there are none. */
  sessions?(): number
  /** Ends everything in flight with a Fault and frees all resources. Idempotent. */
  close(): Promise<void>
}

/** The `client` key of connect and discovery, for upstreams with a session for each client. */
export const DISCOVERY_CLIENT = 'discovery'

/** Discovery declares all capabilities, because some servers list a tool only to clients with those it needs. It refuses every question. */
export const DISCOVERY: Caller = createCaller({
  client: DISCOVERY_CLIENT,
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
})

export type Subscription = {
  uri: string
  /** The caller whose session subscribes. */
  caller: Caller
  onUpdate: (notification: Notification) => void
}

export type SessionListener = {
  notified(client: string, notification: Notification): void
  /** Returns undefined if the client cannot be asked now. */
  asked(client: string, request: ServerRequest, signal: AbortSignal): Promise<McpResponse> | undefined
}

export type UpstreamInfo = {
  /** The negotiated revision; for a server behind a bridge, the revision that the server itself speaks. */
  protocolVersion: string
  /** Absent: legacy. */
  era?: Era
  capabilities: JsonObject
  serverInfo?: JsonObject
  instructions?: string
}

export type UpstreamCall = {
  method: string
  params?: JsonObject
  /** The JSON text of `params.arguments` exactly as the caller sent it, if they are unchanged: sent without serializing again. */
  argumentsText?: string
  caller: Caller
  /** The largest answer in bytes. A larger one is a Fault upstream_too_large and is never buffered beyond this size. */
  maxBytes: number
  /** Called when the request itself is sent, after any start and handshake; called again if it is sent again. */
  onSent?: () => void
}

export type UpstreamEvent =
  | { kind: 'state'; state: 'asleep' | 'starting' | 'ready' }
  /** The child died, did not start, or refused us. `reason` is CamelCase: CrashLooping, StartTimeout, AuthRequired, … */
  | { kind: 'state'; state: 'failed'; reason: string; message: string; stderr?: string[] }
  /** notifications/tools/list_changed, resources/list_changed, prompts/list_changed. */
  | { kind: 'listChanged'; list: 'tools' | 'resources' | 'prompts' }
