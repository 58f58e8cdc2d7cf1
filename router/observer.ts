/** The interface through which the router reports its work; metrics and the request log implement it. */
import type { Profile } from '../core/catalog/router-config.ts'
import type { Fault } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { ClientLabel } from '../core/mcp/caller.ts'
import type { McpResponse } from '../core/mcp/protocol/json-rpc.ts'
import type { McpRequest } from '../core/mcp/server/handler.ts'
import type { Span, Tracer } from '../core/trace.ts'
import type { Limited } from './access/limits.ts'
import type { Catalog } from './catalog/catalog.ts'

export type CallOutcome =
  | 'ok'
  | 'tool_error'
  | 'upstream_error'
  | 'timeout'
  | 'unavailable'
  | 'rejected'
  | 'cancelled'
  | 'too_large'

export type CallRecord = {
  /** Real names from the catalog, never text from a request. Absent if the request named nothing that exists. */
  server?: string
  tool?: string
  method: string
  outcome: CallOutcome
  client?: ClientLabel
  /**
   * Time from the request's arrival to its answer, and the upstream's share of it, which begins when the call is sent: not while it waits for a
   * slot or for the server to be woken. 0 if it was not sent.
   */
  totalMs: number
  upstreamMs: number
  /** Present only if the server's `logging.payloads` and the gateway's `audit.payloads` allow it. */
  payload?: { arguments?: unknown; result?: unknown }
  /** False if the server's `logging.requests` is off. */
  log: boolean
  /** The request of the agent. */
  by: RecordedRequest
  /** What was sent to the server, and what it answered. Absent if nothing was sent. */
  sent?: { params: JsonObject; answer: McpResponse | Fault }
  /** Set if the request named something that its caller's catalog does not have. */
  asked?: Asked
  /** Set if a limit refused the call. */
  limited?: Limited
  /** Set if the caller was challenged for these scopes. */
  scopes?: readonly string[]
  /** What would have been sent to the server, if that is known of a request that was refused. */
  unsent?: JsonObject
  /** Id of the script that made the call. */
  script?: string
}

/** A script that has ended. */
export type ScriptRecord = {
  id: string
  outcome: ScriptOutcome
  calls: number
  /** How long it computed, how long its calls were in progress, how long its caller was asked, and how long it took in total. */
  sandboxMs: number
  toolsMs: number
  askedMs: number
  totalMs: number
  /** Estimated tokens of the results that it took in, less those of what it returned. */
  keptTokens: number
  source: string
  /** Name of a reviewed script. */
  reviewed?: string
  /** Id of the script that called it. */
  parent?: string
  client?: ClientLabel
  by: RecordedRequest
}

export type ScriptOutcome = 'ok' | 'error' | 'timeout' | 'memory' | 'busy' | 'cancelled' | 'failed'

/** A request, with the catalog that its caller sees. */
export type RecordedRequest = {
  readonly request: Pick<McpRequest, 'method' | 'params' | 'caller'>
  readonly catalog: Catalog
  readonly span?: Span
}

/** A name as a request gave it: of a tool or a prompt, of a server, or a URI. */
export type Asked = { kind: 'name' | 'prompt' | 'server' | 'uri'; text: string; server?: string }

export type TokenKind = 'definitions' | 'discovery' | 'schema' | 'resources' | 'script' | 'error'

/** Label for token counts: a profile, or `server` for a server's own endpoint. */
export type TokenRoute = Profile | 'server'

export interface RouterObserver {
  called(record: CallRecord): void
  searched(durationMs: number, hits: number, by: RecordedRequest): void
  /** A request named something that its caller's catalog does not have, and was not reported as a `rejected` call. */
  missed(by: RecordedRequest, asked: Asked): void
  /** Adds the tokens (o200k_base) that listing all visible tools directly would have cost; called at each tools/list. */
  tokensDirect(route: TokenRoute, tokens: number): void
  /** Adds the tokens of one of the gateway's own answers. */
  tokensServed(route: TokenRoute, kind: TokenKind, tokens: number): void
  /** A script began; it ends with `scriptRan`. */
  scriptBegan(): void
  scriptRan(record: ScriptRecord): void
  /** Absent: nothing is traced. */
  tracer?: Tracer
}
