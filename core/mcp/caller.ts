/** The caller of a request: its identity and how to reach it. The server side creates it once; all layers pass the whole value on. */
import type { JsonObject } from '../json.ts'
import type { CallerToken } from './caller-token.ts'
import { ANONYMOUS, type Identity } from './identity.ts'
import type { McpResponse, Notification, ServerRequest } from './protocol/json-rpc.ts'
import type { Era } from './protocol/revisions.ts'

/** Every property is required, even if undefined: a layer that forgets one does not compile, and V8 sees one object shape. */
export type Caller = {
  /** Who the caller is, according to its credential. */
  readonly identity: Identity
  /** The JSON Web Token with which the caller authenticated; undefined for other credentials. Never sent to an upstream. */
  readonly token: CallerToken | undefined
  /** The IP address at the other end of the connection; undefined if it is closed, or there is none. */
  readonly address: string | undefined
  /** Key of the client's session; undefined if it has none. With `sessions: perClient`, each key has its own upstream session. */
  readonly client: string | undefined
  /** How logs name the caller; undefined: logs do not name it. */
  readonly label: ClientLabel | undefined
  /** The caller's era. The server side translates its requests and answers. */
  readonly era: Era
  /** The declared capabilities that questions need: only `elicitation`, `sampling`, `roots`. Undefined: none. */
  readonly capabilities: JsonObject | undefined
  /** HTTP headers to forward, in lower case: Mcp-Param-*, traceparent, tracestate, baggage. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** The least severe level of log messages that the caller wants; undefined: it never set one. */
  readonly logLevel: string | undefined
  /** Aborts when the caller goes away or cancels. */
  readonly signal: AbortSignal
  /**
   * Asks the caller: in the 2025 era by a request on its stream, in the 2026 era by `input_required` and a request that resumes this one.
   * Undefined: the caller cannot be asked, and a server's question is refused.
   */
  readonly ask: Ask | undefined
  /** Sends a notification ahead of the response. Undefined if the caller cannot receive any. */
  readonly notify: ((notification: Notification) => void) | undefined
}

export type ClientLabel = {
  /** Id of its identity; absent if it is anonymous. */
  caller?: string
  /** `name/version` as the client states it; not verified. */
  name?: string
  /** The first characters of a hash of its session key. */
  session?: string
}

/**
 * Sends a server's question to its client and waits for the answer without a deadline, because a human may have to answer. Rejects
 * with the Fault of `signal`, or Fault `cancelled` if the client has gone.
 */
export type Ask = (request: ServerRequest, signal: AbortSignal) => Promise<McpResponse>

/** A caller with the given properties; all others are undefined or have their default. */
export function createCaller(given: Partial<Caller> = {}): Caller {
  return {
    identity: given.identity ?? ANONYMOUS,
    token: given.token,
    address: given.address,
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

/** This process as the caller: for handshakes and other requests that no client makes. */
export const OURSELVES: Caller = createCaller()
