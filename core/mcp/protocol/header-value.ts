/** Encodes any text as an HTTP header value, and decodes it (SEP-2243). Pure. */

const BASE64_PREFIX = '=?base64?'
const BASE64_SUFFIX = '?='
const CANONICAL_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
/** Printable ASCII and tabs, not empty, no white space at either end: HTTP strips it. */
const PLAIN = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/

/** Returns the text itself if it is a valid header value, else its UTF-8 as `=?base64?…?=`. */
export function encodeHeaderValue(text: string): string {
  if (PLAIN.test(text) && !(text.startsWith(BASE64_PREFIX) && text.endsWith(BASE64_SUFFIX))) return text
  return `${BASE64_PREFIX}${Buffer.from(text).toString('base64')}${BASE64_SUFFIX}`
}

/** The text of a header value; undefined if a `=?base64?…?=` value is not valid Base64 or not UTF-8. */
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
