/** Ranks tools that read before those that change something if the query names only verbs of reading. Pure. */
import type { Intent } from './intent.ts'
import type { Lexicon } from './lexicon.ts'

/** Factor for tools that change something if the query asks to read. */
const CHANGES_INSTEAD = 0.85

/**
 * The factor on a tool's score by its action classes (bits). Agents often write the product before the verb, where `intentFactor` may not
 * see the verb, and `merge_merge_request` contains more of the words of "gitlab get merge request" than `get_merge_request` does. A wrong
 * first hit that changes something costs more than one that reads.
 */
export function readingFirst(
  { mentioned, early }: Intent,
  toolClasses: number,
  { reading, changing }: Pick<Lexicon, 'reading' | 'changing'>,
): number {
  const asksToRead = (early & reading) !== 0 && (mentioned & changing) === 0
  const changes = (toolClasses & changing) !== 0 && (toolClasses & reading) === 0
  return asksToRead && changes ? CHANGES_INSTEAD : 1
}
