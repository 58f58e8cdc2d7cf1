/** How a text is written as the value of an HTTP header where it may hold what headers cannot (SEP-2243). Pure. */

const BASE64_PREFIX = '=?base64?'
const BASE64_SUFFIX = '?='
const CANONICAL_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** Printable ASCII and tabs, not empty, without blanks at its ends, which are lost on the way. */
const PLAIN = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/

/** The text itself, or its UTF-8 as `=?base64?…?=`. */
export function encodeHeaderValue(text: string): string {
  if (PLAIN.test(text) && !(text.startsWith(BASE64_PREFIX) && text.endsWith(BASE64_SUFFIX))) return text
  return `${BASE64_PREFIX}${Buffer.from(text).toString('base64')}${BASE64_SUFFIX}`
}

/** A header value as it was meant: `=?base64?…?=` holds UTF-8 that a header could not. Undefined where that is broken. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith(BASE64_PREFIX) || !value.endsWith(BASE64_SUFFIX)) return value
  const encoded = value.slice(BASE64_PREFIX.length, -BASE64_SUFFIX.length)
  if (!CANONICAL_BASE64.test(encoded)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(encoded, 'base64'))
  } catch {
    return undefined
  }
}
