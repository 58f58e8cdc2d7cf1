/** Whether a URI may be an expansion of a URI template (RFC 6570). Pure. */
import { MAX_URI_CHARACTERS } from '../../../core/mcp/protocol/uri-limits.ts'

const EXPRESSION = /\{[^{}]*\}/

/** True if the literal parts of the template occur in the URI in order. Templates without a literal scheme at the beginning match nothing. */
export function mayMatch(template: string, uri: string): boolean {
  const literals = template.split(EXPRESSION)
  const [first = '', ...rest] = literals
  const last = rest.pop()
  if (last === undefined || !first.includes(':') || uri.length > MAX_URI_CHARACTERS) return false
  if (!uri.startsWith(first) || !uri.endsWith(last)) return false
  let at = first.length
  for (const literal of rest) {
    const found = uri.indexOf(literal, at)
    if (found === -1) return false
    at = found + literal.length
  }
  return at <= uri.length - last.length
}
