/** Before a router ends, it hands the logins that only it knows over to the operator or another router. A refresh token is valid once, so a lost renewal ends the login. */
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { type LoginRecord, MAX_LOGINS_AT_ONCE } from '../../core/catalog/login-records.ts'
import { deadline, waitFor } from '../../core/deadline.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Logins } from './logins.ts'
import type { Renewals } from './renewals.ts'

export type HandOverOptions = {
  logins: Pick<Logins, 'settled'>
  renewals: Pick<Renewals, 'retire' | 'tell'>
  /** The logins that the operator has not written yet, as far as this router knows. */
  unwritten: () => readonly LoginRecord[]
  clock: Clock
  log: Log
  /** Returns 0 to 1. Default: Math.random. */
  random?: () => number
}

/** The operator polls every two seconds, and the router sees the written Secret in its feed. A pod gets 20 s in addition to the time of its calls. */
export const HAND_OVER_MS = 8_000
/** The pause between two rounds. It doubles while nobody takes a login, since each round looks the other routers up. */
const PAUSE = { firstMs: 100, longestMs: 1_000 }

/** Resolves when another router or the operator has each login, or after HAND_OVER_MS. Never rejects. */
export async function handOver(options: HandOverOptions): Promise<void> {
  const { logins, renewals, unwritten, clock, log, random = Math.random } = options
  renewals.retire()
  const limit = deadline(clock, HAND_OVER_MS, 'The logins could not be handed over in time')
  const sent = new Map<string, string>()
  const left = () => unwritten().filter(({ id, value }) => sent.get(id) !== value)
  let failures = 0
  try {
    await waitFor(logins.settled(), limit.signal)
    for (let records = left(); records.length > 0; records = left()) {
      const taken = await waitFor(renewals.tell(records.slice(0, MAX_LOGINS_AT_ONCE)), limit.signal)
      for (const { id, value } of taken) sent.set(id, value)
      if (taken.length > 0) failures = 0
      if (left().length > 0) await delay(clock, backoffMs(PAUSE, failures++, random), limit.signal)
    }
  } catch (error) {
    const message = 'the router ends before others have all its logins: their users may have to log in again'
    log.warn({ logins: left().length, error: messageOf(error) }, message)
  } finally {
    limit.clear()
  }
}
