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
  /** Who caused the event; empty: nobody that is known. */
  ownerOf: (event: Event) => string
  /** The event with fewer details, the higher the level, so that fewer different ones remain; used when there are too many kinds. */
  blur: (event: Event, level: 1 | 2 | 3) => Event
  /** Receives an event, and for a merged one the number of events. */
  tell: (event: Event, count?: number) => void
}

const WINDOW_MS = 1_000
const MAX_ALIKE = 10
/** Different events of one owner, and of all who are not known, in a second. Beyond this limit details are left out, and beyond twice as many even more. */
const MAX_OWN_KINDS = 100
const MAX_UNKNOWN_KINDS = 1_000
/** Likewise of all together. */
const MAX_KINDS = 5_000

export function createMerger<Event>(options: MergerOptions<Event>): Merger<Event> {
  const { clock, keyOf, ownerOf, blur, tell } = options
  /** The number of kinds by owner. */
  const owned = new Map<string, number>()
  const kinds = new Map<string, { event: Event; seen: number }>()
  let timer: Timer | undefined
  const flush = (): void => {
    timer?.cancel()
    timer = undefined
    const merged = [...kinds.values()].filter(({ seen }) => seen > MAX_ALIKE)
    kinds.clear()
    owned.clear()
    for (const { event, seen } of merged) tell(event, seen - MAX_ALIKE)
  }
  /** The event with as many details as there is room for. */
  const fitting = (given: Event, owner: string): Event => {
    const isRoomFor = (event: Event, hasRoom: boolean) => hasRoom || kinds.has(keyOf(event))
    const own = kinds.size < MAX_KINDS ? (owned.get(owner) ?? 0) : Number.POSITIVE_INFINITY
    const most = owner === '' ? MAX_UNKNOWN_KINDS : MAX_OWN_KINDS
    if (isRoomFor(given, own < most)) return given
    const blurred = blur(given, 1)
    if (isRoomFor(blurred, own < 2 * most)) return blurred
    const owners = blur(given, 2)
    return isRoomFor(owners, kinds.size < 2 * MAX_KINDS) ? owners : blur(given, 3)
  }
  return {
    add(given) {
      const owner = ownerOf(given)
      const event = fitting(given, owner)
      const key = keyOf(event)
      const seen = (kinds.get(key)?.seen ?? 0) + 1
      if (seen === 1) owned.set(owner, (owned.get(owner) ?? 0) + 1)
      kinds.set(key, { event, seen })
      if (seen <= MAX_ALIKE) tell(event)
      timer ??= clock.after(WINDOW_MS, flush)
    },
    flush,
  }
}
