/** Finds where a script's code reads a property of `tools`. Takes linear time for any text. Pure. */

/**
 * Comments, strings and regular expressions are matched first, so that what is within them is ignored. Each of these also matches if it
 * is not closed, or is limited: otherwise the rest of the code would be searched again from every quote.
 */
const COMMENT = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`
const STRING = String.raw`'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?`
const BODY = String.raw`(?:[^\\\n\/]|\\.){1,200}\/`
/** What may precede a regular expression, but not a division. */
const BEFORE = String.raw`(?:^|=>|[(,=:[!&|?;{}]|\b(?:return|case|typeof))\s*`
/** After anything else, such as `)`, a comment or a line break, a slash is a division, unless what it begins is used as a regular expression. */
const PATTERN = String.raw`\/(?:(?<=${BEFORE}\/)${BODY}|${BODY}[a-z]{0,8}\s?\.(?:test|exec)\b)`
const NAME = String.raw`\??\.\s*[A-Za-z_$][\w$]*`
const KEY = String.raw`(?:\?\.\s*)?\[\s*(?:'[^'\\\n]*'|"[^"\\\n]*")\s*\]`
const ACCESS = String.raw`(?<![\w$.])tools((?:\s*(?:${NAME}|${KEY}))+)`
const TOKEN = new RegExp(`${COMMENT}|${STRING}|${PATTERN}|${ACCESS}|[\`{}]`, 'g')
/** The text of a template, as far as its end or the code within it. */
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(?:`|\$\{)?/y

/** What follows `tools`, such as `.github.get_issue` or `["github:get_issue"]`. Code within templates counts. */
export function* accessesIn(code: string): Generator<string> {
  /** For the code within each template that is open: how many braces are open in it. */
  const braces: number[] = []
  let at = 0
  const skipText = () => {
    TEMPLATE_TEXT.lastIndex = at
    const [text = ''] = TEMPLATE_TEXT.exec(code) ?? []
    at += text.length
    if (text.endsWith('${')) braces.push(0)
  }
  for (;;) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(code)
    if (!match) return
    const [token, access] = match
    at = match.index + token.length
    const open = braces.pop()
    if (access !== undefined) yield access
    if (open !== undefined && !(token === '}' && open === 0)) braces.push(open + changeBy(token))
    if (token === '`' || (token === '}' && open === 0)) skipText()
  }
}

/** By how much a token changes the number of open braces. */
function changeBy(token: string): number {
  if (token === '{') return 1
  return token === '}' ? -1 : 0
}
