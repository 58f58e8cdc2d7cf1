/** The request log: one line for each call or search, with payloads only if the record carries them. */
import { Fault } from '../core/errors.ts'
import { createLineWriter, type Log } from '../core/log.ts'
import type { ClientLabel } from '../core/mcp/caller.ts'
import type { CallRecord, ScriptRecord } from './observer.ts'

export type RequestLog = {
  /** Writes nothing if the server's `logging.requests` is off. */
  called(record: Omit<CallRecord, 'by'>): void
  /** A search belongs to no server. Its query counts as payload and is not logged. */
  searched(durationMs: number, hits: number, client: ClientLabel | undefined): void
  /** The line never contains the text of the script. */
  scriptRan(record: Omit<ScriptRecord, 'by'>): void
}

export function createRequestLog(log: Log): RequestLog {
  const write = createLineWriter(log, 'info')
  return {
    called(record) {
      if (!record.log || !log.isLevelEnabled('info')) return
      const { server, tool, method, outcome, client, script, totalMs, upstreamMs, payload, sent } = record
      const fault = sent?.answer instanceof Fault ? sent.answer : undefined
      write({
        server,
        tool,
        method,
        outcome,
        // Never a message, which may quote arguments.
        fault: fault?.code,
        cause: fault?.details.code,
        caller: client?.caller,
        client: client?.name,
        session: client?.session,
        script,
        durationMs: rounded(totalMs),
        upstreamMs: rounded(upstreamMs),
        payload,
        msg: 'request',
      })
    },
    searched(durationMs, hits, client) {
      if (!log.isLevelEnabled('info')) return
      write({ hits, ...fieldsOf(client), durationMs: rounded(durationMs), msg: 'search' })
    },
    scriptRan({ id, reviewed, parent, outcome, calls, client, totalMs, sandboxMs, keptTokens }) {
      if (!log.isLevelEnabled('info')) return
      write({
        script: id,
        reviewed,
        parent,
        outcome,
        calls,
        ...fieldsOf(client),
        durationMs: rounded(totalMs),
        sandboxMs: rounded(sandboxMs),
        keptTokens,
        msg: 'script',
      })
    },
  }
}

function fieldsOf(client: ClientLabel | undefined) {
  return { caller: client?.caller, client: client?.name, session: client?.session }
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}
