/** Whether a URI may be an expansion of a URI template. Pure. */

const EXPRESSION = /\{[^{}]*\}/
const MAX_URI_CHARACTERS = 8_192

/** The literals between expressions must occur in order; only templates that begin with a literal scheme count. */
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
