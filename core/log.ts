/** The log: JSON lines by pino on standard error, so that standard output stays for results. */
import process from 'node:process'
import pino, { type DestinationStream, type Logger } from 'pino'
import { createLogLines, type LogLines } from './log-lines.ts'

export type Log = Logger
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

const CENSOR = '[redacted]'
/** Names of fields that may hold a secret, at the top level or one level down; payloads are redacted before they are logged. */
const REDACT_PATHS = ['authorization', 'cookie', 'password', 'secret', 'token', 'apiKey', 'clientSecret']

/**
 * The log of a process. `pretty` formats each line for a terminal; `destination` is for tests. If the
 * reader of standard error is slow, lines are dropped: logging never waits, and its memory is bounded.
 */
export function createLog(
  options: { level?: LogLevel; pretty?: (line: string) => string; destination?: DestinationStream } = {},
): Log {
  return pino(
    {
      level: options.level ?? 'info',
      base: null,
      timestamp: createTimestamp(),
      formatters: { level: label => ({ level: label }) },
      redact: { paths: REDACT_PATHS.flatMap(name => [name, `*.${name}`]), censor: CENSOR },
    },
    options.destination ?? standardError(options.pretty),
  )
}

/**
 * Writes lines of one level around pino, whatever the log's level: for the line of each call, whose known fields hold no secrets.
 * pino, which redacts and serializes field by field, takes three times as long. The message must be the last field, `msg`.
 */
export function createLineWriter(
  log: Log,
  level: LogLevel,
): (line: Readonly<Record<string, unknown>>) => void {
  const { [pino.symbols.streamSym]: stream, [pino.symbols.chindingsSym]: bindings } = log as unknown as {
    [pino.symbols.streamSym]: DestinationStream
    [pino.symbols.chindingsSym]: string
  }
  const timestamp = createTimestamp()
  return line =>
    stream.write(`{"level":"${level}"${timestamp()}${bindings},${JSON.stringify(line).slice(1)}\n`)
}

/** Like pino's `isoTime`, but formats each millisecond only once. */
function createTimestamp(): () => string {
  let at = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== at) {
      at = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

function standardError(pretty = (line: string) => line): Pick<LogLines, 'write'> {
  const lines = createLogLines(process.stderr, count => pretty(lostLine(count)))
  return { write: line => lines.write(pretty(line)) }
}

function lostLine(lines: number): string {
  const msg = 'log lines were lost: the reader of standard error is too slow'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lines, msg })}\n`
}
