/** Splits a byte stream into lines of bounded length, in one pass. */

export type LineReaderOptions = {
  /** The limit in bytes of the line that begins with `head`; called each time a line over 64 KiB grows. */
  maxBytes: (head: Buffer) => number
  /** A complete line without its line feed. The buffer is reused: decode it at once. */
  onLine: (line: Buffer) => void
  /** A line over the limit. */
  onSkipped: (line: SkippedLine) => void
}

/** Only the beginning and the end of a line that is too large. */
export type SkippedLine = { head: Buffer; tail: Buffer; bytes: number }

const LINE_FEED = 10
/** A line up to this size is never skipped; a larger buffer is freed after its line. */
const FREE_BYTES = 64 * 1024
const HEAD_BYTES = 1024
const TAIL_BYTES = 256
const NOTHING = Buffer.alloc(0)

/** Uses at most twice the limit of the current line in memory; for a line over its limit, only the two ends. */
export class LineReader {
  readonly #options: LineReaderOptions
  /** The current line so far, in the first `#bytes` bytes. */
  #buffer: Buffer = NOTHING
  #bytes = 0
  #skipping: { head: Buffer; tail: Buffer } | undefined

  constructor(options: LineReaderOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start)
      if (end === -1) break
      this.#finish(chunk.subarray(start, end))
      start = end + 1
    }
    if (start < chunk.length) this.#grow(chunk.subarray(start))
  }

  /** Emits the text after the last line feed. */
  end(): void {
    if (this.#bytes > 0) this.#finish(NOTHING)
  }

  #finish(part: Buffer) {
    if (this.#bytes === 0) return this.#options.onLine(part)
    this.#grow(part)
    const bytes = this.#bytes
    const skipped = this.#skipping
    this.#bytes = 0
    this.#skipping = undefined
    if (skipped) this.#options.onSkipped({ ...skipped, bytes })
    else this.#options.onLine(this.#buffer.subarray(0, bytes))
    if (this.#buffer.length > FREE_BYTES) this.#buffer = NOTHING
  }

  #grow(part: Buffer): void {
    const size = this.#bytes + part.length
    if (this.#skipping) this.#skipping.tail = tailOf(this.#skipping.tail, part)
    else if (size > FREE_BYTES && size > this.#options.maxBytes(this.#head(part))) this.#skip(part)
    else this.#append(part, size)
    this.#bytes = size
  }

  #append(part: Buffer, size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#buffer.length))
      this.#buffer.copy(larger, 0, 0, this.#bytes)
      this.#buffer = larger
    }
    part.copy(this.#buffer, this.#bytes)
  }

  #head(part: Buffer): Buffer {
    const kept = this.#buffer.subarray(0, Math.min(this.#bytes, HEAD_BYTES))
    return kept.length === HEAD_BYTES
      ? kept
      : Buffer.concat([kept, part.subarray(0, HEAD_BYTES - kept.length)])
  }

  #skip(part: Buffer): void {
    const kept = this.#buffer.subarray(Math.max(0, this.#bytes - TAIL_BYTES), this.#bytes)
    this.#skipping = { head: Buffer.from(this.#head(part)), tail: tailOf(kept, part) }
    this.#buffer = NOTHING
  }
}

/** What is kept of a line that was read in full. */
export function skippedLine(line: Buffer): SkippedLine {
  return { head: line.subarray(0, HEAD_BYTES), tail: line.subarray(-TAIL_BYTES), bytes: line.length }
}

function tailOf(before: Buffer, part: Buffer): Buffer {
  const near = part.subarray(Math.max(0, part.length - TAIL_BYTES))
  return Buffer.concat([before, near]).subarray(-TAIL_BYTES)
}
