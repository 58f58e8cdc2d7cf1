/** Stores long texts in memory by id, limited in bytes, number and time; the least recently used are dropped first. */
import type { Clock, Timer } from '../../../core/async.ts'

/** How long a text is kept after it was last read. */
export const KEPT_MINUTES = 10
const KEPT_MS = KEPT_MINUTES * 60_000
export const MAX_KEPT_BYTES = 32 * 1024 * 1024
export const MAX_KEPT_TEXTS = 1_000

/** `partBytes`: the most bytes of a part in which it is read. */
export type KeptText = { text: Buffer; partBytes: number }

export type TextStore = {
  /** `id` must be new. */
  put(id: string, kept: KeptText): void
  get(id: string): KeptText | undefined
  /** The size of all texts. */
  bytes(): number
  clear(): void
}

/** `goneAt`: when it expires, in milliseconds of the clock. */
type Entry = KeptText & { goneAt: number }

export function createTextStore(clock: Clock): TextStore {
  /** Least recently used first; that one is also the first to expire. */
  const entries = new Map<string, Entry>()
  let bytes = 0
  let timer: Timer | undefined

  function drop(id: string, entry: Entry): void {
    entries.delete(id)
    bytes -= entry.text.length
  }
  function touch(id: string, { text, partBytes }: KeptText): void {
    entries.delete(id)
    entries.set(id, { text, partBytes, goneAt: clock.elapsed() + KEPT_MS })
    timer ??= clock.after(KEPT_MS, sweep)
  }
  /** Drops expired entries and schedules the next run. */
  function sweep(): void {
    timer = undefined
    for (const [id, entry] of entries) {
      if (entry.goneAt > clock.elapsed()) {
        timer = clock.after(entry.goneAt - clock.elapsed(), sweep)
        return
      }
      drop(id, entry)
    }
  }

  return {
    put(id, kept) {
      touch(id, kept)
      bytes += kept.text.length
      for (const [oldest, entry] of entries) {
        if (bytes <= MAX_KEPT_BYTES && entries.size <= MAX_KEPT_TEXTS) return
        drop(oldest, entry)
      }
    },
    get(id) {
      const entry = entries.get(id)
      if (!entry || entry.goneAt <= clock.elapsed()) return undefined
      touch(id, entry)
      return entry
    },
    bytes: () => bytes,
    clear() {
      timer?.cancel()
      timer = undefined
      entries.clear()
      bytes = 0
    },
  }
}
