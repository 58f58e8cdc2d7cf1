/** When the lists of one server are read again: in time, soon after the server said that they changed, or after a failure. Pure. */
import { parseDuration } from '../../../crds/quantity.ts'
import type { McpServer } from '../../../crds/server.ts'
import { type Backoff, backoffMs } from '../../backoff.ts'

/** The lists are not read before that, for a server that says that one changed often says so of the next at once. */
const CHANGED_DEBOUNCE_MS = 200
/** From one reading to the next at the word of a server; doubled each time that the word came to nothing. */
const FIRST_CHANGED_GAP_MS = 1_000
const LONGEST_CHANGED_GAP_MS = 60_000
const MIN_INTERVAL_MS = 1_000
/** Intervals are cut or lengthened by up to this share, so that servers are not asked all at once. */
const INTERVAL_JITTER = 0.1

const RETRIES = {
  /** A process has a restart backoff of its own: before that is over, nothing is learned by asking. */
  process: { firstMs: 1_000, longestMs: 60_000 },
  pods: { firstMs: 200, longestMs: 60_000 },
  /** Asking a server that runs elsewhere is cheap, and its outage is often short. */
  remote: { firstMs: 200, longestMs: 10_000 },
  /** Somebody has to give us credentials first. */
  refused: { firstMs: 200, longestMs: 60_000 },
} satisfies Record<string, Backoff>

/** All times are in milliseconds since the epoch. */
export type Schedule = {
  /** Readings that failed, in a row. */
  readonly failures: number
  /** The lists may have changed. */
  changed(now: number): void
  /** A reading begins: what is said from now on is new. */
  began(): void
  /** `isNew`: the lists are other ones than before; `againMs`: when to read them once more, in place of the interval. */
  succeeded(now: number, isNew: boolean, againMs?: number): void
  /** The reading came to no end: it is as due as before. */
  interrupted(): void
  failed(now: number, what: keyof typeof RETRIES): void
  forgetFailures(): void
  /** When to read next; in the past for lists that never were. `intervalMs` is that of the manifest as it is now. */
  dueAt(intervalMs: number): number
}

/** How often the lists of a server are read where nothing happens. */
export function discoveryIntervalMs({ spec }: McpServer): number {
  return Math.max(parseDuration(spec.discovery.interval), MIN_INTERVAL_MS)
}

/** `random` gives 0 to 1. */
export function createSchedule(random: () => number): Schedule {
  let endedAt = Number.NEGATIVE_INFINITY
  let spread = 1
  let againMs: number | undefined
  let failures = 0
  let saidAt: number | undefined
  /** The word that the reading under way follows. */
  let followed: number | undefined
  let gapMs = FIRST_CHANGED_GAP_MS

  function ended(now: number, nextMs: number | undefined): void {
    endedAt = now
    againMs = nextMs
    spread = 1 + INTERVAL_JITTER * (2 * random() - 1)
  }

  return {
    get failures() {
      return failures
    },
    changed(now) {
      saidAt ??= now
    },
    began() {
      followed = saidAt
      saidAt = undefined
    },
    succeeded(now, isNew, nextMs) {
      ended(now, nextMs)
      failures = 0
      gapMs =
        followed !== undefined && !isNew ? Math.min(2 * gapMs, LONGEST_CHANGED_GAP_MS) : FIRST_CHANGED_GAP_MS
    },
    interrupted() {
      saidAt = followed ?? saidAt
    },
    failed(now, what) {
      ended(now, backoffMs(RETRIES[what], failures++, random))
    },
    forgetFailures() {
      failures = 0
    },
    dueAt(intervalMs) {
      const dueAt = endedAt + (againMs ?? intervalMs * spread)
      if (saidAt === undefined) return dueAt
      return Math.min(dueAt, Math.max(saidAt + CHANGED_DEBOUNCE_MS, endedAt + gapMs))
    },
  }
}
