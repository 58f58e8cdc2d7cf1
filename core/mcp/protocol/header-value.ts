/** How a text is written as the value of an HTTP header where it may hold what headers cannot (SEP-2243). Pure. */

const BASE64_PREFIX = '=?base64?'
const BASE64_SUFFIX = '?='
/** Printable ASCII and tabs, not empty, without blanks at its ends, which are lost on the way. */
const PLAIN = /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/

/** The text itself, or its UTF-8 as `=?base64?…?=`. */
export function encodeHeaderValue(text: string): string {
  if (PLAIN.test(text) && !(text.startsWith(BASE64_PREFIX) && text.endsWith(BASE64_SUFFIX))) return text
  return `${BASE64_PREFIX}${Buffer.from(text).toString('base64')}${BASE64_SUFFIX}`
}
