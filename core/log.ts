/** The log: JSON lines by pino on standard error, so that standard output stays for results. */
import process from 'node:process'
import pino, { type DestinationStream, type Logger } from 'pino'
import { createLogLines, type LogLines } from './log-lines.ts'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const CENSOR = '[redacted]'
/** Fields that would hold a secret, at the top of a line or one level down; payloads are redacted where they are taken. */
const REDACT_PATHS = ['authorization', 'cookie', 'password', 'secret', 'token', 'apiKey', 'clientSecret']

/**
 * A log of its own per process. `pretty` rewrites each line for people at a terminal; `destination` is for tests. A
 * reader of standard error that is too slow costs lines, never memory or time.
 */
export function createLog(
  options: { level?: LogLevel; pretty?: (line: string) => string; destination?: DestinationStream } = {},
): Log {
  return pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: REDACT_PATHS.flatMap(name => [name, `*.${name}`]), censor: CENSOR },
    },
    options.destination ?? standardError(options.pretty),
  )
}

/** For lines whose fields are known and no secrets: looking for some costs more than the line. It writes at any level. */
export function withoutRedaction(log: Log): Log {
  return log.child({}, { redact: [], level: 'trace' })
}

function standardError(pretty = (line: string) => line): LogLines {
  const lines = createLogLines(process.stderr, count => pretty(lostLine(count)))
  return { write: line => lines.write(pretty(line)) }
}

function lostLine(lines: number): string {
  const msg = 'log lines were lost: the reader of standard error is too slow'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg })}\n`
}
