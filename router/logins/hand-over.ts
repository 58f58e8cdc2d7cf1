/** Before a router ends, it hands the logins that only it knows over to the operator or another router. A refresh token is valid once, so a lost renewal ends the login. */
import { type Clock, delay } from '../../core/async.ts'
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
}

/** The operator polls every two seconds, and the router sees the written Secret in its feed. A pod gets 20 s in addition to the time of its calls. */
export const HAND_OVER_MS = 8_000
const POLL_MS = 100

/** Resolves when another router or the operator has each login, or after HAND_OVER_MS. Never rejects. */
export async function handOver({ logins, renewals, unwritten, clock, log }: HandOverOptions): Promise<void> {
  renewals.retire()
  const limit = deadline(clock, HAND_OVER_MS, 'The logins could not be handed over in time')
  const sent = new Map<string, string>()
  const left = () => unwritten().filter(({ id, value }) => sent.get(id) !== value)
  const send = async (record: LoginRecord) => {
    if (await renewals.tell(record)) sent.set(record.id, record.value)
  }
  try {
    await waitFor(logins.settled(), limit.signal)
    for (let records = left(); records.length > 0; records = left()) {
      await waitFor(Promise.all(records.slice(0, MAX_LOGINS_AT_ONCE).map(send)), limit.signal)
      if (left().length > 0) await delay(clock, POLL_MS, limit.signal)
    }
  } catch (error) {
    const message = 'the router ends before others have all its logins: their users may have to log in again'
    log.warn({ logins: left().length, error: messageOf(error) }, message)
  } finally {
    limit.clear()
  }
}
