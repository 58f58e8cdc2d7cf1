/** The interface through which the router reports its work; metrics and the request log implement it. */
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
  /** Real names from the catalog, never text from a request. Absent if the request named nothing that exists. */
  server?: string
  tool?: string
  method: string
  outcome: CallOutcome
  client?: ClientLabel
  /** Time from the request's arrival to its answer, and the share of it spent waiting for the upstream. */
  totalMs: number
  upstreamMs: number
  /** Present only if the server's `logging.payloads` and the gateway's `audit.payloads` allow it. */
  payload?: { arguments?: unknown; result?: unknown }
  /** False if the server's `logging.requests` is off. */
  log: boolean
}

export type TokenKind = 'definitions' | 'discovery' | 'schema' | 'resources' | 'error'

/** Label for token counts: a profile, or `server` for a server's own endpoint. */
export type TokenRoute = Profile | 'server'

export interface RouterObserver {
  called(record: CallRecord): void
  searched(durationMs: number, hits: number): void
  /** Adds the tokens (o200k_base) that listing all visible tools directly would have cost; called at each tools/list. */
  tokensDirect(route: TokenRoute, tokens: number): void
  tokensServed(route: TokenRoute, kind: TokenKind, tokens: number): void
  /** Absent: nothing is traced. */
  tracer?: Tracer
}
