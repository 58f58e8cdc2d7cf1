/** The forms in which a script may be written, and the line and column of an error in them. Pure. */

/** The name of a script in stacks. */
export const SCRIPT_FILE = 'script'
/** Lines that are added before the script's own. */
const WRAPPED_LINES = 1

const FENCE = '```'
/** What may follow the first fence in its line. */
const LANGUAGE = /^[\w-]*[^\S\n]*$/
const BLANK = /[^\S\n]/
const BYTE_ORDER_MARK = /^\uFEFF/
const SEMICOLON_OR_SPACE = /[;\s]/
/** A frame of a stack within the script: `at f (script:4:28)`, `at script:3:1`. */
const PLACE = new RegExp(`\\b${SCRIPT_FILE}:(\\d{1,7})(?::(\\d{1,7}))?`)

/** The source without the Markdown fences (```) around it, if there are any. */
export function unfenced(source: string): string {
  const text = source.replace(BYTE_ORDER_MARK, '')
  const fenced = text.trim()
  const lineEnd = fenced.indexOf('\n')
  const hasFences = lineEnd > 0 && fenced.startsWith(FENCE) && fenced.endsWith(FENCE)
  if (!hasFences || !LANGUAGE.test(fenced.slice(FENCE.length, lineEnd))) return text
  const inner = withoutLast(BLANK, fenced.slice(lineEnd + 1, -FENCE.length))
  return inner.endsWith('\n') ? inner.slice(0, -1) : inner
}

/** The text without its last characters of a kind. A pattern that ends in `+$` would take quadratic time for runs of them elsewhere. */
function withoutLast(kind: RegExp, text: string): string {
  let end = text.length
  while (end > 0 && kind.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/**
 * The script as expressions that evaluate to an async function, in the order to be tried: one expression (a function is then called, any
 * other value is the result), and the body of a function. Each line keeps its columns.
 */
export function wrapped(source: string): string[] {
  const expression = withoutLast(SEMICOLON_OR_SPACE, source)
  const asBody = `(async (input) => {\n${source}\n})`
  return expression.trim() === '' ? [asBody] : [`(async (input) => (\n${expression}\n))`, asBody]
}

/** The number of the last line that is not blank. An error that is found at the end of the code is reported after it. */
export function lastLine(source: string): number {
  return source.trimEnd().split('\n').length
}

/** Line and column of the first frame of a stack that is in the script; undefined if none is. */
export function placeIn(stack: string): { line: number; column?: number } | undefined {
  const [, line, column] = PLACE.exec(stack) ?? []
  if (line === undefined || Number(line) <= WRAPPED_LINES) return undefined
  return { line: Number(line) - WRAPPED_LINES, ...(column !== undefined && { column: Number(column) }) }
}
