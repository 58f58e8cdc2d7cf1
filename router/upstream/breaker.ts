/** The circuit breaker of one server: after several failures in a row it refuses all calls except one probe each 5 s. */
import type { Clock } from '../../core/async.ts'

const FAILURES_TO_OPEN = 5
/** Constant, without backoff: a server that is back after an hour is used as soon as one that is back after a minute. */
const PROBE_EVERY_MS = 5_000

/** A call that was let in. `turn` is its sequence number; a probe is a call let in while the breaker is open. */
export type Entry = { readonly probe: boolean; readonly turn: number }

/** `undecided`: neither a success nor a failure of the upstream, such as a call that its caller cancelled. */
export type Verdict = 'success' | 'failure' | 'undecided'

export type BreakerStatus = {
  state: 'closed' | 'open' | 'halfOpen'
  failures: number
  /** Milliseconds until the next probe is let in; 0: at once, or the breaker is closed. */
  retryInMs: number
}

export type Breaker = {
  /** Milliseconds until a call can be let in; 0: at once. */
  refusesForMs(): number
  /** Lets a call in; undefined if none may pass. Every entry must be returned with `leave`. */
  enter(): Entry | undefined
  leave(entry: Entry, verdict: Verdict): void
  status(): BreakerStatus
}

export function createBreaker(clock: Clock): Breaker {
  let failures = 0
  let isOpen = false
  /** When the next probe is let in, whether or not the last one has ended: a probe may hang as long as any call. */
  let retryAt = 0
  /** The newest probe, while it is in flight. */
  let probe: Entry | undefined
  let turns = 0
  /** `turn` of the newest call that had begun when a call last succeeded. */
  let succeededAt = 0

  function refusesForMs(): number {
    return isOpen ? Math.max(0, retryAt - clock.elapsed()) : 0
  }

  function enter(): Entry | undefined {
    if (!isOpen) return { probe: false, turn: ++turns }
    if (refusesForMs() > 0) return undefined
    retryAt = clock.elapsed() + PROBE_EVERY_MS
    probe = { probe: true, turn: ++turns }
    return probe
  }

  function leave(entry: Entry, verdict: Verdict): void {
    const isNewestProbe = entry === probe
    if (isNewestProbe) probe = undefined
    if (verdict === 'success') {
      succeededAt = turns
      failures = 0
      isOpen = false
      probe = undefined
    } else if (verdict === 'undecided') {
      // It gave no verdict: the next call becomes the probe.
      if (isNewestProbe) retryAt = clock.elapsed()
    } else if (entry.turn > succeededAt) {
      // One of several pods may be gone: while others answer, calls that hung on it are not counted.
      failures++
      if (isOpen || failures < FAILURES_TO_OPEN) return
      isOpen = true
      retryAt = clock.elapsed() + PROBE_EVERY_MS
    }
  }

  function status(): BreakerStatus {
    const retryInMs = refusesForMs()
    const state = !isOpen ? 'closed' : probe || retryInMs === 0 ? 'halfOpen' : 'open'
    return { state, failures, retryInMs }
  }

  return { refusesForMs, enter, leave, status }
}
