/** What the router tells the outside about its work; metrics, the request log and traces implement it. */
import type { Profile } from '../core/catalog/router-config.ts'
import type { ClientLabel } from '../core/mcp/caller.ts'
import type { Tracer } from '../core/trace.ts'

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
  /** Real names, known to the catalog; never taken from a request. Absent where the request named none that exists. */
  server?: string
  tool?: string
  method: string
  outcome: CallOutcome
  client?: ClientLabel
  /** From the request's arrival to its answer, and the part of it spent waiting for the upstream. */
  totalMs: number
  upstreamMs: number
  /** Present only where the server's `logging.payloads` and the gateway's `audit.payloads` allow it. */
  payload?: { arguments?: unknown; result?: unknown }
  /** False where the server's `logging.requests` is off. */
  log: boolean
}

export type TokenKind = 'definitions' | 'discovery' | 'schema' | 'resources' | 'error'

/** What was shown to whom: the tools of a profile, or one server as it is. */
export type TokenRoute = Profile | 'server'

export interface RouterObserver {
  called(record: CallRecord): void
  searched(durationMs: number, hits: number): void
  /** Tokens (o200k_base) that the visible tools would have cost at a downstream tools/list. */
  tokensDirect(route: TokenRoute, tokens: number): void
  tokensServed(route: TokenRoute, kind: TokenKind, tokens: number): void
  /** Absent: nothing is traced. */
  tracer?: Tracer
}
