/** Shows progress: on a terminal as lines, the last of which is overwritten; otherwise as log entries. */
import type { Problem } from '../core/errors.ts'
import { plainLine } from '../core/hidden-characters.ts'
import type { Log } from '../core/log.ts'
import type { Findings } from '../local/reloader.ts'
import { noteLine, problemLine, type Terminal } from './output.ts'

const ERASE_LINE = '\r\u001b[K'
const SHOW_AFTER_MS = 1_000

export type Progress = {
  /** Shows a line that stays: a constant text, and values that say what it is about. */
  say(text: string, about: Record<string, string>): void
  /** Shows new problems and notes of the manifests, and which problems are solved. */
  tell(findings: Findings): void
  /** Shows what is waited for now: only on a terminal, and if the last line that stays is older than a second. */
  show(line: string): void
  /** How long ago `say` wrote a line. */
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
    say(text, about) {
      if (terminal.interactive)
        write(terminal.errColors.dim([text, ...Object.values(about).map(plainLine)].join(': ')))
      else log.info(about, text)
      saidAt = performance.now()
    },
    tell({ problems, solved, notes }) {
      const { interactive, errColors } = terminal
      for (const problem of problems)
        if (interactive) write(problemLine(problem, errColors))
        else log.warn(fieldsOf(problem), 'problem in a manifest')
      for (const problem of solved)
        if (interactive) write(noteLine(problem, errColors, 'solved'))
        else log.info(fieldsOf(problem), 'problem in a manifest solved')
      for (const note of notes)
        if (interactive) write(noteLine(note, errColors))
        else log.info(fieldsOf(note), 'note on a manifest')
    },
    show(line) {
      const isEarly = performance.now() - saidAt < SHOW_AFTER_MS
      const text = line.slice(0, terminal.columns() - 1)
      if (!terminal.interactive || isEarly || text === shown) return
      terminal.errRaw(ERASE_LINE + terminal.errColors.dim(text))
      shown = text
    },
    quietForMs: () => performance.now() - saidAt,
    end: erase,
  }
}

/** The problem as fields of a log line. Its message is called `detail`, since the line has its own text. */
function fieldsOf({ message, ...where }: Problem) {
  return { ...where, detail: message }
}
