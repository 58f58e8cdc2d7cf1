/** Ranks tools that read before those that change something if the query names only verbs of reading. Pure. */
import type { Intent } from './intent.ts'
import type { Lexicon } from './lexicon.ts'

/** Factors for tools that change something if the query asks to read: plainly, and by a verb with other meanings. */
const CHANGES_INSTEAD = { plainly: 0.55, perhaps: 0.85 }

/**
 * The factor on a tool's score by its action classes (bits). Agents often write the product before the verb, where `intentFactor` may not
 * see the verb, and `merge_merge_request` contains more of the words of "gitlab get merge request" than `get_merge_request` does. A wrong
 * first hit that changes something costs more than one that reads.
 */
export function readingFirst(
  { mentioned, early, plain }: Intent,
  toolClasses: number,
  { reading, changing }: Pick<Lexicon, 'reading' | 'changing'>,
): number {
  const asksToRead = (early & reading) !== 0 && (mentioned & changing) === 0
  const changes = (toolClasses & changing) !== 0 && (toolClasses & reading) === 0
  if (!asksToRead || !changes) return 1
  return plain ? CHANGES_INSTEAD.plainly : CHANGES_INSTEAD.perhaps
}
