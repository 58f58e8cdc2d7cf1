/** The note after a text that was cut: how long it is, and how to read the next part. Pure. */
import type { Work } from '../meta-tool.ts'
import { spelled } from '../wording/profile-words.ts'
import type { Handle } from './handle.ts'
import { KEPT_MINUTES } from './store.ts'

/** `end`, `bytes`: where the text was cut, and its whole length, in bytes; `next`: handle of the next part. */
export function cutNote({ words }: Work, end: number, bytes: number, next: Handle): string {
  const how = spelled(words.readOn(next))
  return `[Cut after ${end} of ${bytes} bytes. What follows, within ${KEPT_MINUTES} minutes: ${how}.]`
}

/** The note on text that could not be stored. `bytes`: its length; `mostBytes`: the server's limit for results. */
export function lossNote(bytes: number, mostBytes: number): string {
  return `[Cut: ${bytes} more bytes of text are over the server's limit of ${mostBytes}. Ask for less: a filter, a page or a smaller range.]`
}
