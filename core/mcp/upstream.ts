/** An upstream as everybody sees it, whatever carries it: stdio child, streamable HTTP or SSE. */
import type { JsonObject, JsonValue } from '../json.ts'

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
  request(call: UpstreamCall, signal: AbortSignal): Promise<UpstreamAnswer>
  /** What goes on with the upstream; called on every change until close. Returns the unsubscribe function. */
  onEvent(listener: (event: UpstreamEvent) => void): () => void
  /** Ends what is kept for a client that went away; its calls in flight too. Absent: nothing is. */
  forget?(client: string): void
  /** Ends everything in flight with a Fault and frees all resources. Idempotent. */
  close(): Promise<void>
}

/** The `client` key of connect and discovery, where an upstream has a session for each client. */
export const DISCOVERY_CLIENT = 'discovery'

export type UpstreamInfo = {
  protocolVersion: string
  capabilities: JsonObject
  serverInfo?: JsonObject
  instructions?: string
}

export type UpstreamCall = {
  method: string
  params?: JsonObject
  /** Whose call it is, for `sessions: perClient`: each key has a session (a child) of its own. Absent: a session for this one call. Ignored when shared. */
  client?: string
  /** The largest answer in bytes; a larger one is a Fault upstream_too_large, and costs no more memory than this. */
  maxBytes: number
  /** Notifications that belong to this call (progress, messages). */
  onNotification?: (notification: { method: string; params?: JsonObject }) => void
  /** Called when the request itself is written, after any start and handshake; once more where it had to be sent again. */
  onSent?: () => void
}

export type UpstreamAnswer =
  | {
      result: JsonObject
      /** The JSON text of `result` exactly as the upstream wrote it, where it could be had for nothing. */
      resultText?: string
      error?: undefined
    }
  | { error: JsonRpcError; result?: undefined }

export type JsonRpcError = { code: number; message: string; data?: JsonValue }

export type UpstreamEvent =
  | { kind: 'state'; state: 'asleep' | 'starting' | 'ready' }
  /** The child died, did not start, or refused us. `reason` is CamelCase: CrashLooping, StartTimeout, AuthRequired, … */
  | { kind: 'state'; state: 'failed'; reason: string; message: string; stderr?: string[] }
  /** notifications/tools/list_changed, resources/list_changed, prompts/list_changed. */
  | { kind: 'listChanged'; list: 'tools' | 'resources' | 'prompts' }
