/** Cuts a text to a length, at a word where one is near. Pure. */

/** At most `most` characters; a cut text ends with an ellipsis. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, most - 1)
  const space = head.lastIndexOf(' ')
  const cut = space > most * 0.7 ? head.slice(0, space) : head
  return `${cut.replace(/[\uD800-\uDBFF]$/, '').trimEnd()}…`
}
