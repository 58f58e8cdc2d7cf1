/** Who makes a request, and how they are reached while it runs: made once by the server side, passed on whole up to the upstream. */
import type { JsonObject } from '../json.ts'
import type { McpResponse, Notification, ServerRequest } from './protocol/json-rpc.ts'
import type { Era } from './protocol/revisions.ts'

/** Every property is there, if only as undefined: a layer that forgets one does not compile, and all callers have one shape. */
export type Caller = {
  /** Key of the client's session; undefined where it has none. With `sessions: perClient` each key has an upstream session of its own. */
  readonly client: string | undefined
  /** How logs name the caller; undefined: they do not. */
  readonly label: ClientLabel | undefined
  /** The era that the caller speaks. Its requests and answers are translated by the server side. */
  readonly era: Era
  /** What the caller can be asked for, as it declared it: `elicitation`, `sampling`, `roots`, nothing else. Undefined: for nothing. */
  readonly capabilities: JsonObject | undefined
  /** HTTP headers to pass on, in lower case: Mcp-Param-*, traceparent, tracestate, baggage. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The least severe level of log messages that the caller wants; undefined: it never said. */
  readonly logLevel: string | undefined
  /** Aborts when the caller goes away or cancels. */
  readonly signal: AbortSignal
  /**
   * Asks the caller, in the way of its era: a request on its stream, or `input_required` and a repeated request that resumes this one.
   * Undefined: it cannot be asked, and a server's question is refused.
   */
  readonly ask: Ask | undefined
  /** Sends a notification ahead of the response. Undefined where the caller cannot take any. */
  readonly notify: ((notification: Notification) => void) | undefined
}

export type ClientLabel = {
  /** `name/version`, as the client says it: anybody can say anything. */
  name?: string
  /** The beginning of a hash of its session. */
  session?: string
}

/**
 * Puts a server's request to its client and waits for the answer, as long as it takes: a human may have to think. Rejects with the
 * Fault of `signal`, or Fault `cancelled` where the client went away.
 */
export type Ask = (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse>

/** A caller with the properties that are given, and without all others. */
export function createCaller(given: Partial<Caller> = {}): Caller {
  return {
    client: given.client,
    label: given.label,
    era: given.era ?? 'legacy',
    capabilities: given.capabilities,
    headers: given.headers,
    logLevel: given.logLevel,
    signal: given.signal ?? NEVER,
    ask: given.ask,
    notify: given.notify,
  }
}

const NEVER = new AbortController().signal

/** This process itself: for handshakes and other requests that no client makes. */
export const OURSELVES: Caller = createCaller()
