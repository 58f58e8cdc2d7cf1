/** The request log: one line a call or search, with payloads only where the record carries them. */
import type { Log } from '../core/log.ts'
import type { CallRecord } from './observer.ts'

/** Nothing is written where the server's `logging.requests` is off. */
export function logCall(log: Log, record: CallRecord): void {
  if (!record.log) return
  const { server, tool, method, outcome, totalMs, upstreamMs, payload } = record
  const line = {
    server,
    tool,
    method,
    outcome,
    durationMs: rounded(totalMs),
    upstreamMs: rounded(upstreamMs),
  }
  log.info(payload === undefined ? line : { ...line, payload }, 'request')
}

/** A search belongs to no server; what was asked for is payload and stays out. */
export function logSearch(log: Log, durationMs: number, hits: number): void {
  log.info({ hits, durationMs: rounded(durationMs) }, 'search')
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}
