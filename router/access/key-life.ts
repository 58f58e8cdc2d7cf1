/** How long public keys of issuers and of the API server are used, and what is reported if they cannot be fetched. Pure. */
import type { Clock } from '../../core/async.ts'
import type { KeyState } from '../../core/catalog/access-verdicts.ts'

/** Keys that are older than this are fetched again in the background. */
export const KEYS_LIFE_MS = 5 * 60_000
/** If fetching fails, old keys verify tokens for this long. */
export const MAX_STALE_MS = 24 * 60 * 60_000
/** The least time between two fetches, however many tokens name unknown keys and however often the state is asked for. */
export const MIN_FETCH_MS = 5_000
const MAX_MESSAGE = 500

/** When keys were fetched: `atMs` by the clock's `elapsed`, `fetchedMs` by its `now`. */
export type FetchTime = { atMs: number; fetchedMs: number }

export function fetchTime(clock: Clock): FetchTime {
  return { atMs: clock.elapsed(), fetchedMs: clock.now() }
}

/** How old keys are, also if the time of day was set back or the machine was suspended meanwhile: each clock misses one of these. */
export function ageOf({ atMs, fetchedMs }: FetchTime, clock: Clock): number {
  return Math.max(clock.elapsed() - atMs, clock.now() - fetchedMs)
}

/**
 * The fields of a KeyState about a failed fetch, with at most MAX_MESSAGE characters of the message. `fetchedMs`: when the keys in use were
 * fetched, in milliseconds since the epoch; undefined if there are none.
 */
export function failureFields(
  message: string,
  fetchedMs: number | undefined,
): Pick<KeyState, 'message' | 'fetchedAt'> {
  return {
    message: message.slice(0, MAX_MESSAGE),
    ...(fetchedMs !== undefined && { fetchedAt: new Date(fetchedMs).toISOString() }),
  }
}
