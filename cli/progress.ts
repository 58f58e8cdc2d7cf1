/** What goes on while one waits: on a terminal lines, and one more that is written over; elsewhere entries of the log. */
import type { Problem } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import { problemLine, type Terminal } from './output.ts'

const ERASE_LINE = '\r\u001b[K'
const SHOW_AFTER_MS = 1_000

export type Progress = {
  /** A line that stays. */
  say(line: string): void
  problem(problem: Problem): void
  /** What is waited for now: shown on a terminal only, once the wait is longer than a second. */
  show(line: string): void
  /** How long ago the last line that stays was. */
  quietForMs(): number
  end(): void
}

export function createProgress(terminal: Terminal, log: Log): Progress {
  let saidAt = performance.now()
  let shown = ''
  const erase = () => {
    if (shown !== '') terminal.errRaw(ERASE_LINE)
    shown = ''
  }
  const write = (line: string) => {
    erase()
    terminal.err(line)
  }
  return {
    say(line) {
      if (terminal.interactive) write(terminal.errColors.dim(line))
      else log.info(line)
      saidAt = performance.now()
    },
    problem(problem) {
      const { message, ...where } = problem
      if (terminal.interactive) write(problemLine(problem, terminal.errColors))
      else log.warn(where, message)
    },
    show(line) {
      const early = performance.now() - saidAt < SHOW_AFTER_MS
      const text = line.slice(0, terminal.columns() - 1)
      if (!terminal.interactive || early || text === shown) return
      terminal.errRaw(ERASE_LINE + terminal.errColors.dim(text))
      shown = text
    },
    quietForMs: () => performance.now() - saidAt,
    end: erase,
  }
}
