/** What stands under a text that was cut: how much there is, and how to get what comes next. Pure. */
import type { Work } from '../meta-tool.ts'
import { spelled } from '../wording/profile-words.ts'
import type { Handle } from './handle.ts'
import { KEPT_MINUTES } from './store.ts'

export function cutNote({ words }: Work, end: number, bytes: number, next: Handle): string {
  const how = spelled(words.readOn(next))
  return `[Cut after ${end} of ${bytes} bytes. What follows, within ${KEPT_MINUTES} minutes: ${how}.]`
}

/** Where nothing could be kept. */
export function lossNote(bytes: number, mostBytes: number): string {
  return `[Cut: ${bytes} more bytes of text are over the server's limit of ${mostBytes}. Ask for less: a filter, a page or a smaller range.]`
}
