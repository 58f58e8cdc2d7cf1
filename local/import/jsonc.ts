/** JSON with comments and trailing commas, as trees that know where everything stands. Pure. */
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { messageOf } from '../../core/errors.ts'

export type JsoncTree = { root?: Node; problem?: { message: string; offset: number } }

/** Never throws; a text with mistakes gives a problem, and as much of the tree as could be read. */
export function parseJsonc(text: string, maxBytes: number): JsoncTree {
  if (text.length > maxBytes) {
    return { problem: { message: `has more than ${maxBytes / 1024 / 1024} MiB`, offset: 0 } }
  }
  // A byte order mark would be a mistake in the first column; a space keeps all offsets.
  const clean = text.replace(/^\uFEFF/, ' ')
  const errors: ParseError[] = []
  try {
    const root = parseTree(clean, errors, { allowTrailingComma: true })
    const [error] = errors
    if (error) return { root, problem: { message: explainError(error), offset: error.offset } }
    return root ? { root } : { problem: { message: 'is empty', offset: 0 } }
  } catch (error) {
    // Thousands of nested brackets exhaust the parser's stack.
    return { problem: { message: `is not valid JSON: ${messageOf(error)}`, offset: 0 } }
  }
}

/** The properties of an object, in their order; none for anything else. */
export function propertiesOf(node: Node): { name: string; key: Node; value: Node }[] {
  if (node.type !== 'object') return []
  return (node.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key && value ? [{ name: String(key.value), key, value }] : [],
  )
}

/** Line and column of an offset, counted from 1. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

const ERRORS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'a text must stand in double quotes',
  InvalidNumberFormat: 'a number is malformed',
  PropertyNameExpected: 'a name in double quotes is expected here',
  ValueExpected: 'a value is expected here',
  ColonExpected: 'a ":" is missing',
  CommaExpected: 'a "," is missing before this',
  CloseBraceExpected: 'a "}" is missing',
  CloseBracketExpected: 'a "]" is missing',
  EndOfFileExpected: 'nothing may follow the end of the object',
  UnexpectedEndOfString: 'a closing quote is missing',
  UnexpectedEndOfComment: 'a comment has no end',
  InvalidEscapeCharacter: 'a backslash must be written twice, as in "C:\\\\tools"',
}

function explainError({ error }: ParseError): string {
  const code = printParseErrorCode(error)
  return `is not valid JSON: ${ERRORS[code] ?? code}`
}
