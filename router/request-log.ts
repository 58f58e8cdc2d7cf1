/** The request log: one line for each call or search, with payloads only if the record carries them. */
import { createLineWriter, type Log } from '../core/log.ts'
import type { CallRecord } from './observer.ts'

export type RequestLog = {
  /** Writes nothing if the server's `logging.requests` is off. */
  called(record: Omit<CallRecord, 'by'>): void
  /** A search belongs to no server. Its query counts as payload and is not logged. */
  searched(durationMs: number, hits: number): void
}

export function createRequestLog(log: Log): RequestLog {
  const write = createLineWriter(log, 'info')
  return {
    called(record) {
      if (!record.log || !log.isLevelEnabled('info')) return
      const { server, tool, method, outcome, client, totalMs, upstreamMs, payload } = record
      write({
        server,
        tool,
        method,
        outcome,
        caller: client?.caller,
        client: client?.name,
        session: client?.session,
        durationMs: rounded(totalMs),
        upstreamMs: rounded(upstreamMs),
        payload,
        msg: 'request',
      })
    },
    searched(durationMs, hits) {
      if (log.isLevelEnabled('info')) write({ hits, durationMs: rounded(durationMs), msg: 'search' })
    },
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}
