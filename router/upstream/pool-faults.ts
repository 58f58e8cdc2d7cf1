/** Faults of calls that a pool does not send, or that it ends early. Pure. */
import { Fault } from '../../core/errors.ts'
import type { Breaker } from './breaker.ts'

export const closedFault = () => new Fault('upstream_died', 'the upstream was closed before its answer')
export const replacedFault = () =>
  new Fault('upstream_asleep', 'the server was reconfigured', { details: { replaced: true } })

/** The breaker refuses calls for the time in `retryInMs`. */
export function openFault(breaker: Breaker): Fault {
  return new Fault('upstream_open', 'the server failed too often', {
    retryable: true,
    details: { retryInMs: breaker.refusesForMs() },
  })
}
