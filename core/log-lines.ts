/** Lines on their way to a stream that may take them slower than they come: written together, lost beyond a limit, and counted. */
import process from 'node:process'
import type { Writable } from 'node:stream'

/** One write a line would be an eighth of what a call costs. */
const BATCH_LENGTH = 16_384
const FLUSH_MS = 100
/** What may wait for a slow reader: more would cost memory without end. */
const MAX_WAITING_LENGTH = 1 << 20

export type LogLines = { write(line: string): void }

/**
 * Lines are written within a tenth of a second, and at exit as far as the stream takes them. `lost` makes the line that
 * tells how many were lost, written as soon as there is room again.
 */
export function createLogLines(stream: Writable, lost: (lines: number) => string): LogLines {
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
    // A reader that went away takes no more lines, and is no reason to end.
    stream.on('error', () => {
      gone = true
    })
  }

  return {
    write(line) {
      if (!begun) begin()
      if (gone) return
      if (stream.writableLength + batch.length + line.length > MAX_WAITING_LENGTH) {
        dropped++
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
  }
}
