/** Compares names and values that differ only in case and word separators. Pure. */

/** Separators within a name; not between digits and not at the ends: `-name` and `1_000` mean something else without them. */
const JOINT = /(?<=\p{L})[\s_-]+(?=[\p{L}\p{N}])|(?<=\p{N})[\s_-]+(?=\p{L})/gu
/** Longer texts are not compared. */
const MAX_CHARACTERS = 100

/** The known name that differs only in case and separators: "pageId" for "page_id" and "Page-ID"; undefined if there is none, or several. */
export function onlyAlike(text: string, known: readonly string[]): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined
  const wanted = lettersOf(text)
  const alike = known.filter(one => one.length <= MAX_CHARACTERS && lettersOf(one) === wanted)
  return alike.length === 1 ? alike[0] : undefined
}

/** The text in lower case without separators. */
function lettersOf(text: string): string {
  return text.replace(JOINT, '').toLowerCase()
}
