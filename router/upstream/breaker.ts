/** The circuit breaker of one server: after failures in a row it refuses calls, but for one each 5 s, which tries the server. */
import type { Clock } from '../../core/async.ts'

const FAILURES_TO_OPEN = 5
/** Always the same: a server that is back after an hour is used as soon as one that is back after a minute. */
const PROBE_EVERY_MS = 5_000

/** How a call was let in; `turn` is its sequence number. A probe is let in while the breaker is open. */
export type Entry = { readonly probe: boolean; readonly turn: number }

/** `undecided`: neither for nor against the upstream, such as a call that its caller gave up. */
export type Verdict = 'success' | 'failure' | 'undecided'

export type BreakerStatus = {
  state: 'closed' | 'open' | 'halfOpen'
  failures: number
  /** Milliseconds until the next probe is let in; 0: now, or the breaker is closed. */
  retryInMs: number
}

export type Breaker = {
  /** Milliseconds until a call may be let in; 0: now. */
  refusesForMs(): number
  /** Lets a call in, or undefined where none may go. Every entry is given back by `leave`. */
  enter(): Entry | undefined
  leave(entry: Entry, verdict: Verdict): void
  status(): BreakerStatus
}

export function createBreaker(clock: Clock): Breaker {
  let failures = 0
  let isOpen = false
  /** When an open breaker lets the next probe in, whether or not the last one has ended: that may hang as long as a call. */
  let retryAt = 0
  /** The newest, while it is under way. */
  let probe: Entry | undefined
  let turns = 0
  /** Calls let in up to this one began before the last success. */
  let succeededAt = 0

  const refusesForMs = () => (isOpen ? Math.max(0, retryAt - clock.now()) : 0)

  function enter(): Entry | undefined {
    if (!isOpen) return { probe: false, turn: ++turns }
    if (refusesForMs() > 0) return undefined
    retryAt = clock.now() + PROBE_EVERY_MS
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
      // It told nothing: the next call takes its place.
      if (isNewestProbe) retryAt = clock.now()
    } else if (entry.turn > succeededAt) {
      // One of several pods may be gone: as long as others answer, calls that hung on it say nothing of the server.
      failures++
      if (isOpen || failures < FAILURES_TO_OPEN) return
      isOpen = true
      retryAt = clock.now() + PROBE_EVERY_MS
    }
  }

  function status(): BreakerStatus {
    const retryInMs = refusesForMs()
    const state = !isOpen ? 'closed' : probe || retryInMs === 0 ? 'halfOpen' : 'open'
    return { state, failures, retryInMs }
  }

  return { refusesForMs, enter, leave, status }
}
