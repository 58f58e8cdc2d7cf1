/** When the lists of one server are read again: by interval, after a `list_changed`, or after a failure. Pure. */
import { parseDuration } from '../../../crds/quantity.ts'
import type { McpServer } from '../../../crds/server.ts'
import { type Backoff, backoffMs } from '../../backoff.ts'

/** Delay after a `list_changed`, because servers often send several at once. */
const CHANGED_DEBOUNCE_MS = 200
/** Minimum time between readings due to `list_changed`; doubled each time the lists had not changed. */
const FIRST_CHANGED_GAP_MS = 1_000
const MAX_CHANGED_GAP_MS = 60_000
const MIN_INTERVAL_MS = 1_000
/** Intervals vary by up to this share, so that servers are not all read at once. */
const INTERVAL_JITTER = 0.1

const RETRIES = {
  /** A process has its own restart backoff; asking earlier is useless. */
  process: { firstMs: 1_000, longestMs: 60_000 },
  pods: { firstMs: 200, longestMs: 60_000 },
  /** Asking a remote server is cheap, and outages are often short. */
  remote: { firstMs: 200, longestMs: 10_000 },
  /** Credentials must be configured first. */
  refused: { firstMs: 200, longestMs: 60_000 },
} satisfies Record<string, Backoff>

/** All times are in milliseconds of a clock's `elapsed`. */
export type Schedule = {
  /** Failed readings in a row. */
  readonly failures: number
  /** The server reported that its lists changed. */
  changed(now: number): void
  /** A reading begins: changes reported from now on need another one. */
  began(): void
  /** `isNew`: the lists changed; `againMs`: the delay until the next reading, instead of the interval. */
  succeeded(now: number, isNew: boolean, againMs?: number): void
  /** The reading was aborted, and is as due as before. */
  interrupted(): void
  failed(now: number, what: keyof typeof RETRIES): void
  forgetFailures(): void
  /** When to read next; in the past if the lists were never read. `intervalMs`: the manifest's current interval. */
  dueAt(intervalMs: number): number
}

/** How often the lists of a server are read if nothing changes. */
export function discoveryIntervalMs({ spec }: McpServer): number {
  return Math.max(parseDuration(spec.discovery.interval), MIN_INTERVAL_MS)
}

/** `random` returns 0 to 1. */
export function createSchedule(random: () => number): Schedule {
  let endedAt = Number.NEGATIVE_INFINITY
  let jitter = 1
  let againMs: number | undefined
  let failures = 0
  let changedAt: number | undefined
  /** When the change that the current reading follows was reported. */
  let followedChangeAt: number | undefined
  let gapMs = FIRST_CHANGED_GAP_MS

  function ended(now: number, nextMs: number | undefined): void {
    endedAt = now
    againMs = nextMs
    jitter = 1 + INTERVAL_JITTER * (2 * random() - 1)
  }

  return {
    get failures() {
      return failures
    },
    changed(now) {
      changedAt ??= now
    },
    began() {
      followedChangeAt = changedAt
      changedAt = undefined
    },
    succeeded(now, isNew, nextMs) {
      ended(now, nextMs)
      failures = 0
      gapMs =
        followedChangeAt !== undefined && !isNew
          ? Math.min(2 * gapMs, MAX_CHANGED_GAP_MS)
          : FIRST_CHANGED_GAP_MS
    },
    interrupted() {
      changedAt = followedChangeAt ?? changedAt
    },
    failed(now, what) {
      ended(now, backoffMs(RETRIES[what], failures++, random))
    },
    forgetFailures() {
      failures = 0
    },
    dueAt(intervalMs) {
      const dueAt = endedAt + (againMs ?? intervalMs * jitter)
      if (changedAt === undefined) return dueAt
      return Math.min(dueAt, Math.max(changedAt + CHANGED_DEBOUNCE_MS, endedAt + gapMs))
    },
  }
}
