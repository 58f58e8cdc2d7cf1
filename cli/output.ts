/** The output of commands: results as tables or JSON to standard output, everything else to standard error. */
import { createColors } from 'picocolors'
import type { Problem } from '../core/errors.ts'
import { plainLine, plainLines } from '../core/hidden-characters.ts'

export type OutputFormat = 'table' | 'json'

export type Colors = ReturnType<typeof createColors>

/** Where a command writes to, and its environment. */
export type Terminal = {
  out(text: string): void
  /** As `out`, for a text of a server as it is: on a terminal, control characters are described instead of obeyed. */
  outRaw(text: string): void
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
    outRaw: text => process.stdout.write(`${process.stdout.isTTY ? plainLines(text) : text}\n`),
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

/** A text, or a text and its colour. The colour is apart from the text, which may be a server's and have codes for terminals in it. */
export type Cell = string | readonly [text: string, paint: (text: string) => string]

/** Left-aligned columns, two spaces apart, with their titles. Texts are shown as by `plainLine`. Pure. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string {
  const titles = columns.map(({ title }) => title)
  const lines = [titles, ...rows].map(row => columns.map((_, at) => readCell(row[at] ?? '')))
  const widths = columns.map((_, at) => Math.max(...lines.map(line => line[at]?.text.length ?? 0)))
  const padded = ({ text, paint }: ReadCell, at: number) => {
    const space = ' '.repeat((widths[at] ?? 0) - text.length)
    const painted = text === '' ? '' : paint(text)
    return columns[at]?.align === 'right' ? space + painted : painted + space
  }
  return lines.map(line => line.map(padded).join('  ').trimEnd()).join('\n')
}

type ReadCell = { text: string; paint: (text: string) => string }

function readCell(cell: Cell): ReadCell {
  const [text, paint] = typeof cell === 'string' ? [cell, (text: string) => text] : cell
  return { text: plainLine(text), paint }
}

/** 1234567 as "1,234,567", whatever the locale. Pure. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** A problem in one line: `file:line:column  field  message (Reason)`. Pure. */
export function problemLine(problem: Problem, colors: Colors): string {
  const { file, line, column, path, message, reason } = problem
  const where = [file, line, column].filter(part => part !== undefined).join(':')
  const paint = (text: string | undefined, color: (text: string) => string) => text && color(plainLine(text))
  const parts = [paint(where, colors.bold), paint(path, colors.cyan), plainLine(message)]
  return `${parts.filter(part => part).join('  ')} ${colors.dim(`(${reason})`)}`
}

/** The same line for a finding that is no mistake, or was corrected: dim, after a word. Pure. */
export function noteLine(note: Problem, colors: Colors, word = 'note'): string {
  return colors.dim(`${word}: ${problemLine(note, createColors(false))}`)
}
