/** The output of commands: results as tables or JSON to standard output, everything else to standard error. */
import { createColors } from 'picocolors'
import type { Problem } from '../core/errors.ts'

export type OutputFormat = 'table' | 'json'

export type Colors = ReturnType<typeof createColors>

/** Where a command writes to, and its environment. */
export type Terminal = {
  out(text: string): void
  err(text: string): void
  /** As `err`, without a newline. */
  errRaw(text: string): void
  /** For standard output. */
  colors: Colors
  errColors: Colors
  /** Whether standard error is a terminal, on which progress may be shown. */
  interactive: boolean
  /** How many characters fit into a line of standard error. */
  columns(): number
  env: Readonly<Record<string, string>>
}

export function createTerminal(process: NodeJS.Process): Terminal {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const env = Object.fromEntries(entries)
  const colourful = (stream: NodeJS.WriteStream) =>
    stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  return {
    out: text => process.stdout.write(`${text}\n`),
    err: text => process.stderr.write(`${text}\n`),
    errRaw: text => process.stderr.write(text),
    colors: createColors(colourful(process.stdout)),
    errColors: createColors(colourful(process.stderr)),
    interactive: process.stderr.isTTY === true,
    columns: () => process.stderr.columns || DEFAULT_COLUMNS,
    env,
  }
}

const DEFAULT_COLUMNS = 80

export type Column = { title: string; align?: 'right' }

/** Left-aligned columns, two spaces apart, with their titles; colour codes do not count as width. Pure. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, at) =>
    Math.max(title.length, ...rows.map(row => visibleLength(row[at] ?? ''))),
  )
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, at) => {
        const cell = cells[at] ?? ''
        const space = ' '.repeat(Math.max(0, (widths[at] ?? 0) - visibleLength(cell)))
        return align === 'right' ? space + cell : cell + space
      })
      .join('  ')
      .trimEnd()
  return [columns.map(({ title }) => title), ...rows].map(line).join('\n')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with the control character ESC
const COLOUR_CODE = /\u001b\[\d+m/g

function visibleLength(text: string): number {
  return text.replace(COLOUR_CODE, '').length
}

/** 1234567 as "1,234,567", whatever the locale. Pure. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A problem in one line: `file:line:column  field  message (Reason)`. Pure. */
export function problemLine(problem: Problem, colors: Colors): string {
  const { file, line, column, path, message, reason } = problem
  const where = [file, line, column].filter(part => part !== undefined).join(':')
  const parts = [where && colors.bold(where), path && colors.cyan(path), message]
  return `${parts.filter(part => part).join('  ')} ${colors.dim(`(${reason})`)}`
}

/** The same line for a finding that is no mistake, or was corrected: dim, after a word. Pure. */
export function noteLine(note: Problem, colors: Colors, word = 'note'): string {
  return colors.dim(`${word}: ${problemLine(note, createColors(false))}`)
}
