/** Lists of terms that were made for parts of an index, those last used first to stay. Pure. */
import type { TermLists } from './postings.ts'

export type Lists = ReturnType<TermLists['of']>

export type ListCache = {
  get(key: string): Lists | undefined
  set(key: string, lists: Lists): void
}

/** What the lists of a term take besides their ids, in ids. */
const OVERHEAD = 50

/** `room`: how many ids all lists together may have, at 8 bytes each. */
export function createListCache(room: number): ListCache {
  const known = new Map<string, Lists>()
  let taken = 0
  return {
    get(key) {
      const lists = known.get(key)
      if (lists === undefined) return undefined
      known.delete(key)
      known.set(key, lists)
      return lists
    },
    set(key, lists) {
      taken += sizeOf(lists)
      known.set(key, lists)
      for (const [oldest, old] of known) {
        if (taken <= room) return
        known.delete(oldest)
        taken -= sizeOf(old)
      }
    },
  }
}

function sizeOf(lists: Lists): number {
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), OVERHEAD)
}
