/** Merges equal events: after ten in a second, further ones are only counted. */
import type { Clock, Timer } from '../../core/async.ts'

export type Merger<Event> = {
  add(event: Event): void
  /** Writes the counts so far. */
  flush(): void
}

export type MergerOptions<Event> = {
  clock: Clock
  /** The same for events that are merged. */
  keyOf: (event: Event) => string
  /** The event without its details, so that few different ones remain; used when there are too many kinds. */
  blur: (event: Event) => Event
  /** Receives an event, and for a merged one the number of events. */
  tell: (event: Event, count?: number) => void
}

const WINDOW_MS = 1_000
const MAX_ALIKE = 10
/** Different events in a second. Beyond this limit, details are left out. */
const MAX_KINDS = 1_000

export function createMerger<Event>({ clock, keyOf, blur, tell }: MergerOptions<Event>): Merger<Event> {
  const kinds = new Map<string, { event: Event; seen: number }>()
  let timer: Timer | undefined
  const flush = (): void => {
    timer?.cancel()
    timer = undefined
    const merged = [...kinds.values()].filter(({ seen }) => seen > MAX_ALIKE)
    kinds.clear()
    for (const { event, seen } of merged) tell(event, seen - MAX_ALIKE)
  }
  return {
    add(given) {
      const isKnown = kinds.size < MAX_KINDS || kinds.has(keyOf(given))
      const event = isKnown ? given : blur(given)
      const key = keyOf(event)
      const seen = (kinds.get(key)?.seen ?? 0) + 1
      kinds.set(key, { event, seen })
      if (seen <= MAX_ALIKE) tell(event)
      timer ??= clock.after(WINDOW_MS, flush)
    },
    flush,
  }
}
