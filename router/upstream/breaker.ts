/** The circuit breaker of one server: after failures in a row it refuses calls, then lets single probes through. */
import type { Clock } from '../../core/async.ts'

const FAILURES_TO_OPEN = 5
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 60_000

/** How a call was let in, as the how manyth. The probe is the one call that decides whether a half-open breaker closes. */
export type Entry = { readonly probe: boolean; readonly turn: number }

/** `undecided`: neither for nor against the upstream, such as a call that its caller gave up. */
export type Verdict = 'success' | 'failure' | 'undecided'

export type BreakerStatus = {
  state: 'closed' | 'open' | 'halfOpen'
  failures: number
  /** Milliseconds until the next probe; 0 unless open. */
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
  let pauseMs = 0 // 0: closed
  let retryAt = 0
  let probing = false
  let turns = 0
  /** Calls let in up to this one began before the last success. */
  let succeededAt = 0

  function open(nextPauseMs: number): void {
    pauseMs = Math.min(nextPauseMs, LONGEST_PAUSE_MS)
    retryAt = clock.now() + pauseMs
  }

  function close(): void {
    failures = 0
    pauseMs = 0
  }

  function refusesForMs(): number {
    if (pauseMs === 0) return 0
    const waitMs = Math.max(0, retryAt - clock.now())
    return probing ? Math.max(1, waitMs) : waitMs
  }

  return {
    refusesForMs,
    enter() {
      if (pauseMs === 0) return { probe: false, turn: ++turns }
      if (refusesForMs() > 0) return undefined
      probing = true
      return { probe: true, turn: ++turns }
    },
    leave(entry, verdict) {
      if (entry.probe) probing = false
      if (verdict === 'success') {
        succeededAt = turns
        return close()
      }
      // One of several pods may be gone: as long as others answer, calls that hung on it say nothing of the server.
      if (verdict === 'undecided' || entry.turn <= succeededAt) return
      failures++
      if (entry.probe) open(pauseMs * 2)
      // A failure of a call that was under way when the breaker opened says nothing new.
      else if (pauseMs === 0 && failures >= FAILURES_TO_OPEN) open(FIRST_PAUSE_MS)
    },
    status() {
      const retryInMs = pauseMs === 0 ? 0 : Math.max(0, retryAt - clock.now())
      return { state: pauseMs === 0 ? 'closed' : retryInMs > 0 ? 'open' : 'halfOpen', failures, retryInMs }
    },
  }
}
