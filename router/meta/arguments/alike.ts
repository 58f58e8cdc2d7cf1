/** Compares names and values that differ only in case and word separators. Pure. */
import { lettersOf } from '../../../core/catalog/names.ts'

/** Longer texts are not compared. */
const MAX_CHARACTERS = 100

/** The known name that differs only in case and separators: "pageId" for "page_id" and "Page-ID"; undefined if there is none, or several. */
export function onlyAlike(text: string, known: readonly string[]): string | undefined {
  if (text.length > MAX_CHARACTERS) return undefined
  const wanted = lettersOf(text)
  const alike = known.filter(one => one.length <= MAX_CHARACTERS && lettersOf(one) === wanted)
  return alike.length === 1 ? alike[0] : undefined
}
