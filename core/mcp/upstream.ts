/** An upstream as everybody sees it, whatever carries it: stdio child, streamable HTTP or SSE, of either era. */
import type { JsonObject } from '../json.ts'
import { type Caller, createCaller } from './caller.ts'
import type { McpResponse, Notification, ServerRequest } from './protocol/json-rpc.ts'
import type { Era } from './protocol/revisions.ts'

export interface Upstream {
  /**
   * Brings the upstream up if it is not (starts the child, shakes hands); many callers share one start.
   * Throws Fault upstream_unreachable, upstream_timeout, upstream_auth_required, upstream_protocol, cancelled.
   */
  connect(signal: AbortSignal): Promise<UpstreamInfo>
  /**
   * Sends one request and waits for its answer. Connects first where needed. When `signal` aborts, the upstream is told
   * (notifications/cancelled) and the promise rejects with Fault `cancelled` (or the Fault that is the signal's reason).
   * A JSON-RPC error of the upstream is an answer, not a fault.
   */
  request(call: UpstreamCall, signal: AbortSignal): Promise<McpResponse>
  /** What goes on with the upstream; called on every change until close. Returns the unsubscribe function. */
  onEvent(listener: (event: UpstreamEvent) => void): () => void
  /**
   * Passes on updates of one resource (`notifications/resources/updated`) until `signal` aborts, over lost sessions and restarts too.
   * Resolves once the upstream took it on; an error that it answers is an answer. Absent: no resource can be subscribed to.
   */
  subscribe?(subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** Who hears what a client's own session says and asks between its calls, for `sessions: perClient`. Absent: nothing is said. */
  attach?(listener: SessionListener): void
  /** Hands a client's own session what it says besides requests, such as `notifications/roots/list_changed`; nothing where shared. */
  tell?(client: string, notification: Notification): void
  /** Ends what is kept for a client that went away; its calls in flight too. Absent: nothing is. */
  forget?(client: string): void
  /** Ends everything in flight with a Fault and frees all resources. Idempotent. */
  close(): Promise<void>
}

/** The `client` key of connect and discovery, where an upstream has a session for each client. */
export const DISCOVERY_CLIENT = 'discovery'

/** Discovery as a caller: some servers list a tool only to clients that can be asked for what it needs. What they do ask is refused. */
export const DISCOVERY: Caller = createCaller({
  client: DISCOVERY_CLIENT,
  capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
})

export type Subscription = {
  uri: string
  /** Whose session watches it. */
  caller: Caller
  onUpdate: (notification: Notification) => void
}

export type SessionListener = {
  notified(client: string, notification: Notification): void
  /** Undefined where the client cannot be asked now. */
  asked(client: string, request: ServerRequest, signal: AbortSignal): Promise<McpResponse> | undefined
}

export type UpstreamInfo = {
  /** The revision that was negotiated; of a server behind a bridge, the server's own. */
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
  /** The JSON text of `params.arguments` exactly as the caller wrote it, where nothing in them was changed: written as it is. */
  argumentsText?: string
  caller: Caller
  /** The largest answer in bytes; a larger one is a Fault upstream_too_large, and costs no more memory than this. */
  maxBytes: number
  /** Called when the request itself is written, after any start and handshake; once more where it had to be sent again. */
  onSent?: () => void
}

export type UpstreamEvent =
  | { kind: 'state'; state: 'asleep' | 'starting' | 'ready' }
  /** The child died, did not start, or refused us. `reason` is CamelCase: CrashLooping, StartTimeout, AuthRequired, … */
  | { kind: 'state'; state: 'failed'; reason: string; message: string; stderr?: string[] }
  /** notifications/tools/list_changed, resources/list_changed, prompts/list_changed. */
  | { kind: 'listChanged'; list: 'tools' | 'resources' | 'prompts' }
