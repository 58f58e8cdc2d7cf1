/** Keeps the last lines that each server wrote to its standard error, for the console. */
import { BoundedMap } from '../core/bounded-map.ts'
import type { StdioLog } from '../core/mcp/client/stdio/stdio-rpc.ts'

/** How many lines of a server are kept. */
const MAX_LINES = 300
/** Of how many servers: those that wrote last, so that removed ones do not fill the places. */
const MAX_SERVERS = 500

export type StderrTails = {
  /** Wraps a log to also keep the server's lines. Secrets have already been removed from them. */
  of(server: string, log: StdioLog): StdioLog
  /** The kept lines of a server, oldest first. */
  lines(server: string): string[]
}

export function createStderrTails(): StderrTails {
  const tails = new BoundedMap<string[]>(MAX_SERVERS)
  const keep = (server: string, line: string): void => {
    const lines = tails.get(server) ?? []
    tails.set(server, lines)
    lines.push(line)
    if (lines.length > MAX_LINES) lines.shift()
  }
  return {
    of: (server, log) => ({
      warn: (fields, message) => log.warn(fields, message),
      info(fields, message) {
        if ('left' in fields) keep(server, `… ${fields.left} lines were skipped`)
        if ('stderr' in fields && typeof fields.stderr === 'string') keep(server, fields.stderr)
        log.info(fields, message)
      },
    }),
    lines: server => tails.get(server) ?? [],
  }
}
