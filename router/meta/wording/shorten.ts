/** Cuts a text to a length or to a token budget, at a word boundary if one is near. Pure. */
import { reveal } from '../../../core/hidden-characters.ts'
import { estimateTokens } from '../../catalog/estimate.ts'

/** Share of a budget that an estimate may use, since estimates can be too low. */
const SAFE_SHARE = 0.85
/** A run of hidden characters is shown by a shorter description, so more is read than is shown. */
const READ_SHARE = 4

/** At most `most` characters; a cut text ends with an ellipsis. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const head = text.slice(0, most - 1)
  const space = head.lastIndexOf(' ')
  const cut = space > most * 0.7 ? head.slice(0, space) : head
  return `${cut.replace(/[\uD800-\uDBFF]$/, '').trimEnd()}…`
}

/** At most `most` characters, with hidden characters made visible. Reads only the beginning of a long text, since a person or script may have made it long. */
export function revealBeginning(text: string, most: number): string {
  const read = text.slice(0, READ_SHARE * most)
  if (read.length === text.length) return shorten(reveal(text), most)
  return shorten(`${reveal(read.replace(/[\uD800-\uDBFF]$/, ''))}…`, most)
}

/** Cuts a text until it costs at most `most` tokens. */
export function shortenToTokens(text: string, most: number): string {
  let cut = text
  for (let tokens = estimateTokens(cut); tokens > most * SAFE_SHARE; tokens = estimateTokens(cut)) {
    const share = Math.min(0.95, (most * SAFE_SHARE) / tokens)
    cut = shorten(cut, Math.max(1, Math.floor(cut.length * share)))
    if (cut.length <= 1) break
  }
  return cut
}
