/** The request log: one line a call or search, with payloads only where the record carries them. */
import { type Log, withoutRedaction } from '../core/log.ts'
import type { CallRecord } from './observer.ts'

export type RequestLog = {
  /** Nothing is written where the server's `logging.requests` is off. */
  called(record: CallRecord): void
  /** A search belongs to no server; what was asked for is payload and stays out. */
  searched(durationMs: number, hits: number): void
}

export function createRequestLog(log: Log): RequestLog {
  const lines = withoutRedaction(log)
  return {
    called(record) {
      if (!record.log || !log.isLevelEnabled('info')) return
      const { server, tool, method, outcome, totalMs, upstreamMs, payload } = record
      const line = {
        server,
        tool,
        method,
        outcome,
        durationMs: rounded(totalMs),
        upstreamMs: rounded(upstreamMs),
      }
      lines.info(payload === undefined ? line : { ...line, payload }, 'request')
    },
    searched(durationMs, hits) {
      if (log.isLevelEnabled('info')) lines.info({ hits, durationMs: rounded(durationMs) }, 'search')
    },
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}
