/** Reads a child's standard error: keeps the last lines, logs some, and limits the rate of reading. */
import type { Readable } from 'node:stream'
import type { Clock } from '../../../async.ts'
import { LineReader } from './framing.ts'
import { harmless } from './harmless.ts'

const KEPT_LINES = 50
/** Longer lines are cut. */
const KEPT_BYTES = 2048
const WINDOW_MS = 250
/** Bytes read in one window, i.e. 1 MB/s. A child that writes faster blocks on its pipe. */
const WINDOW_BYTES = 256 * 1024
const WINDOW_LOGGED_LINES = 20

export type Stderr = {
  /** The last lines, oldest first, without secrets. */
  lines(): string[]
  /** The child has exited: reads the rest without a rate limit. */
  finish(): void
}

export type StderrOptions = {
  clock: Clock
  secrets: readonly string[]
  /** Called for some of the lines; `left` counts the lines skipped before this one. */
  log: (line: string, left: number) => void
}

/** Begins to read the stream, whose errors are ignored. */
export function readStderr(stream: Readable, { clock, secrets, log }: StderrOptions): Stderr {
  const kept: string[] = []
  let windowEnd = 0
  let bytes = 0
  let logged = 0
  let left = 0
  let finished = false

  const reader = new LineReader({
    maxBytes: () => 0,
    onLine: line => take(line.length > KEPT_BYTES ? cut(line) : line.toString()),
    onSkipped: ({ head }) => take(cut(head)),
  })
  stream.on('error', () => {})
  stream.on('end', () => reader.end())
  stream.on('data', (chunk: Buffer) => {
    turnWindow()
    bytes += chunk.length
    reader.push(chunk)
    if (bytes < WINDOW_BYTES || finished) return
    stream.pause()
    clock.after(windowEnd - clock.elapsed(), () => stream.resume())
  })

  function turnWindow() {
    if (clock.elapsed() < windowEnd) return
    windowEnd = clock.elapsed() + WINDOW_MS
    bytes = 0
    logged = 0
  }

  function take(line: string) {
    if (line.trim() === '') return
    kept.push(line)
    if (kept.length > KEPT_LINES) kept.shift()
    if (logged++ >= WINDOW_LOGGED_LINES) return left++
    log(clean(line), left)
    left = 0
  }

  const clean = (line: string) => harmless(line, secrets)

  return {
    lines: () => kept.map(clean),
    finish() {
      finished = true
      stream.resume()
    },
  }
}

/** The beginning of a long line. Removes the word at the cut too: it could be the beginning of a secret, which would not be recognized. */
function cut(line: Buffer): string {
  return `${line.toString('utf8', 0, KEPT_BYTES).replace(/(?<!\S)\S*$/, '')}…`
}
