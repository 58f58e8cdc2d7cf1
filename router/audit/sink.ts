/** Writes audit lines to a stream without waiting for it. Lines that it does not accept in time are lost, and counted. */
import type { Writable } from 'node:stream'
import { createLogLines } from '../../core/log-lines.ts'

export type AuditSink = {
  write(line: string): void
  /** Whether lines wait because the stream does not accept them. */
  isBlocked(): boolean
  /** Writes the waiting lines. Resolves when the stream has accepted them, or has not for a second. */
  close(): Promise<void>
}

/** How much text may wait before the sink counts as blocked, and how much at most: calls that are running at that time still write lines. */
const BLOCKED_LENGTH = 1 << 20
const MAX_WAITING_LENGTH = 8 << 20
const CLOSE_MS = 1_000

export function createAuditSink(stream: Writable, onLost: () => void): AuditSink {
  const lines = createLogLines(stream, lostLine, { maxWaiting: MAX_WAITING_LENGTH, onLost })
  return {
    write: lines.write,
    isBlocked: () => lines.waiting() > BLOCKED_LENGTH,
    async close() {
      lines.flush()
      if (stream.writableLength === 0) return
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, CLOSE_MS)
        stream.write('', () => {
          clearTimeout(timer)
          resolve()
        })
      })
    },
  }
}

function lostLine(count: number): string {
  return `${JSON.stringify({ stream: 'audit', v: 1, time: new Date().toISOString(), event: 'lost', count })}\n`
}
