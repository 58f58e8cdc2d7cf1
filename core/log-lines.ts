/** Buffers lines for a stream that may be slower than their source: batches them, and drops and counts lines beyond a limit. */
import process from 'node:process'
import type { Writable } from 'node:stream'

/** Writing every line separately would take an eighth of the CPU time of a call. */
const BATCH_LENGTH = 16_384
const FLUSH_MS = 100
/** Limit of the text that waits for a slow reader; without it memory would grow without bound. */
const MAX_WAITING_LENGTH = 1 << 20

export type LogLines = {
  write(line: string): void
  /** Writes the buffered lines to the stream now. */
  flush(): void
  /** The length of the text that is buffered here and in the stream; Infinity if the stream has ended. */
  waiting(): number
}

export type LogLinesOptions = {
  /** Limit for the length of the waiting text. Default: 1 Mi characters. */
  maxWaiting?: number
  /** Called for every line that is dropped. */
  onLost?: () => void
}

/**
 * Lines are written within a tenth of a second, and at exit as far as the stream accepts them. `lost` makes the line that
 * reports how many were dropped; it is written as soon as there is room again.
 */
export function createLogLines(
  stream: Writable,
  lost: (lines: number) => string,
  { maxWaiting = MAX_WAITING_LENGTH, onLost }: LogLinesOptions = {},
): LogLines {
  let batch = ''
  let dropped = 0
  let begun = false
  let gone = false
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    process.off('exit', flush)
    timer = undefined
    if (!gone && batch !== '') stream.write(batch)
    batch = ''
  }

  function begin(): void {
    begun = true
    // A reader that closed the stream must not end the process.
    stream.on('error', () => {
      gone = true
    })
  }

  return {
    write(line) {
      if (!begun) begin()
      if (gone || stream.writableLength + batch.length + line.length > maxWaiting) {
        dropped++
        onLost?.()
        return
      }
      if (dropped > 0) batch += lost(dropped)
      dropped = 0
      batch += line
      if (batch.length >= BATCH_LENGTH) return flush()
      if (timer !== undefined) return
      timer = setTimeout(flush, FLUSH_MS).unref()
      process.once('exit', flush)
    },
    flush,
    waiting: () => (gone ? Number.POSITIVE_INFINITY : stream.writableLength + batch.length),
  }
}
