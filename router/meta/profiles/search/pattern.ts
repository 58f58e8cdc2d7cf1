/** Compiles the regular expressions of mcp_search_tool_regex: RE2 syntax, limited in size so that matching is fast. Pure. */
import { RE2JS } from 're2js'
import type { Refusal } from '../../wording/answers.ts'
import { shorten } from '../../wording/shorten.ts'

const MAX_PATTERN_CHARACTERS = 256
/** Limit for the compiled program: a repetition such as x{1,1000} costs as many steps for each character. */
const MAX_INSTRUCTIONS = 500
/** Limit for a rough estimate of that size: compiling a pattern that is far too large can take half a second. */
const MAX_ESTIMATED_INSTRUCTIONS = 4 * MAX_INSTRUCTIONS
/** Compiling uses stack in proportion to the depth of groups. */
const MAX_GROUP_DEPTH = 50
const MAX_REASON_CHARACTERS = 200
/** The parts of a pattern: an escape, a class, a repetition, or a single character. */
const TOKENS = /\\.|\[(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gs

/** Compiles a pattern that ignores case, and whose ^ and $ match at line breaks too; a refusal if it is invalid or too large. */
export function compilePattern(query: string): RE2JS | Refusal {
  const refusal = problemOf(query)
  if (refusal !== undefined) return { refusal, outcome: 'rejected' }
  try {
    const pattern = RE2JS.compile(query, RE2JS.CASE_INSENSITIVE | RE2JS.MULTILINE)
    return pattern.programSize() <= MAX_INSTRUCTIONS ? pattern : { refusal: TOO_LARGE, outcome: 'rejected' }
  } catch (error) {
    const reason =
      error instanceof Error ? shorten(error.message, MAX_REASON_CHARACTERS) : 'it cannot be read'
    return {
      refusal: `The pattern is not valid: ${reason}. It is RE2: no lookaround, no backreference.`,
      outcome: 'rejected',
    }
  }
}

const TOO_LARGE = 'The pattern is too large once its repetitions are written out: make it simpler.'

/** Why a pattern is not compiled at all; undefined if it may be. */
function problemOf(query: string): string | undefined {
  if (query.length > MAX_PATTERN_CHARACTERS)
    return `The pattern is too long: at most ${MAX_PATTERN_CHARACTERS} characters.`
  if (query.split('(').length > MAX_GROUP_DEPTH) return 'The pattern has too many groups: make it simpler.'
  return expandedSize(query) > MAX_ESTIMATED_INSTRUCTIONS ? TOO_LARGE : undefined
}

/** A rough count of characters, classes and groups with repetitions expanded. */
function expandedSize(query: string): number {
  const outer: number[] = []
  let size = 0
  let last = 0
  for (const [token, least, most = least] of query.matchAll(TOKENS)) {
    if (token === '(') {
      outer.push(size)
      size = 0
    } else if (token === ')') {
      last = size + 1
      size = (outer.pop() ?? 0) + last
    } else {
      const added = least === undefined ? 1 : last * (Math.max(Number(least), Number(most)) - 1)
      last = least === undefined ? 1 : last + added
      size += added
    }
  }
  return size
}
