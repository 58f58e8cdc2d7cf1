/** The log: JSON lines by pino on standard error, so that standard output stays for results; pretty on a terminal. */
import pino, { type DestinationStream, type Logger } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const STDERR = 2
/** Lines are written together: one write each would be an eighth of what a call costs. */
const BATCH_BYTES = 4_096
const FLUSH_MS = 100
const CENSOR = '[redacted]'
/** Fields that would hold a secret, at the top of a line or one level down; payloads are redacted where they are taken. */
const REDACT_PATHS = ['authorization', 'cookie', 'password', 'secret', 'token', 'apiKey', 'clientSecret']

/**
 * A log of its own per process. `pretty` is for people at a terminal; `destination` is for tests. Lines are written
 * within a tenth of a second, and at exit.
 */
export function createLog(
  options: { level?: LogLevel; pretty?: boolean; destination?: DestinationStream } = {},
): Log {
  const destination =
    options.destination ??
    (options.pretty
      ? pretty({ destination: STDERR, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
      : pino.destination({ fd: STDERR, sync: false, minLength: BATCH_BYTES, periodicFlush: FLUSH_MS }))
  return pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: REDACT_PATHS.flatMap(name => [name, `*.${name}`]), censor: CENSOR },
    },
    destination,
  )
}
