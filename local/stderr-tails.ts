/** Keeps the last lines that each server wrote to its standard error, for the console. */
import type { StdioLog } from '../core/mcp/client/stdio/stdio-rpc.ts'

/** How many lines of a server are kept. */
const MAX_LINES = 300
const MAX_SERVERS = 500

export type StderrTails = {
  /** Wraps a log to also keep the server's lines. Secrets have already been removed from them. */
  of(server: string, log: StdioLog): StdioLog
  /** The kept lines of a server, oldest first. */
  lines(server: string): string[]
}

export function createStderrTails(): StderrTails {
  const tails = new Map<string, string[]>()
  const keep = (server: string, line: string): void => {
    const lines = tails.get(server) ?? []
    if (lines.length === 0 && tails.size >= MAX_SERVERS) return
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
