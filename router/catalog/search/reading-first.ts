/** Ranks tools that read before those that change something if the query names only verbs of reading. Pure. */
import type { Intent } from './intent.ts'
import type { Lexicon } from './lexicon.ts'

/** Factor for tools that change something if the query asks to read. */
const CHANGES_INSTEAD = 0.85

/**
 * The factor on a tool's score. Agents write the product before the verb, which `intentFactor` takes for no verb, and
 * `merge_merge_request` contains more of the words of "gitlab get merge request" than `get_merge_request` does. A wrong first hit that
 * changes something costs more than one that reads.
 */
export function readingFirst(
  { mentioned, early }: Intent,
  own: number,
  { reading, changing }: Pick<Lexicon, 'reading' | 'changing'>,
): number {
  const asksToRead = (early & reading) !== 0 && (mentioned & changing) === 0
  const changes = (own & changing) !== 0 && (own & reading) === 0
  return asksToRead && changes ? CHANGES_INSTEAD : 1
}
