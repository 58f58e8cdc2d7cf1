/** Faults of calls that a pool does not send, or that it ends early. Pure. */
import type { UserCredentials, UserSecret } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { User } from '../../core/mcp/user.ts'
import type { LabelSelector } from '../../crds/core-v1.ts'
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

/** The user of a server that logs in with credentials of each user has none. */
export function needsCredentials(
  { subject }: User,
  { selector }: Extract<UserCredentials, { kind: 'secrets' }>,
  secret: UserSecret | undefined,
): Fault {
  const details = {
    reason: 'NeedsCredentials',
    subject,
    labels: labelsOf(selector),
    ...(secret?.lacks !== undefined && { lacks: secret.lacks }),
  }
  return new Fault('user_refused', 'the user has no credentials', { details })
}

/** A label selector as text for an error message: `app: a, tier In b c`. */
function labelsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}: ${value}`)
  const others = matchExpressions.map(({ key, operator, values = [] }) =>
    [key, operator, values.join(' ')].filter(Boolean).join(' '),
  )
  return [...equal, ...others].join(', ')
}
