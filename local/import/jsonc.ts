/** Parses JSON with comments and trailing commas into trees with positions. Pure. */
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { messageOf } from '../../core/errors.ts'

export type JsoncTree = { root?: Node; problem?: { message: string; offset: number } }

/** Never throws; for invalid text, returns a problem and the part of the tree that could be parsed. */
export function parseJsonc(text: string, maxBytes: number): JsoncTree {
  if (text.length > maxBytes) {
    return { problem: { message: `has more than ${maxBytes / 1024 / 1024} MiB`, offset: 0 } }
  }
  // The parser rejects a byte order mark; replacing it with a space keeps all offsets.
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

/** The properties of an object in order; none for other nodes. */
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
  InvalidSymbol: 'a string must be in double quotes',
  InvalidNumberFormat: 'a number is malformed',
  PropertyNameExpected: 'a name in double quotes is expected here',
  ValueExpected: 'a value is expected here',
  ColonExpected: 'a ":" is missing',
  CommaExpected: 'a "," is missing before this',
  CloseBraceExpected: 'a "}" is missing',
  CloseBracketExpected: 'a "]" is missing',
  EndOfFileExpected: 'nothing may follow the end of the object',
  UnexpectedEndOfString: 'a closing quote is missing',
  UnexpectedEndOfComment: 'a comment is not closed',
  InvalidEscapeCharacter: 'a backslash must be written twice, as in "C:\\\\tools"',
}

function explainError({ error }: ParseError): string {
  const code = printParseErrorCode(error)
  return `is not valid JSON: ${ERRORS[code] ?? code}`
}
