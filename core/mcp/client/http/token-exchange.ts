/** Upstream tokens of one user, obtained by exchanging the user's own token (RFC 8693). */
import type { Clock } from '../../../async.ts'
import { Fault } from '../../../errors.ts'
import type { ConnectedUser } from '../../user.ts'
import { type ClientCredentials, createTokenSource, type TokenSource } from './oauth.ts'

/**
 * Caches and renews tokens as createTokenSource does, for this user alone. Also throws Fault user_refused if the user has no token, or
 * the authorization server refuses it; other users are not affected.
 */
export function createTokenExchange(
  credentials: Omit<ClientCredentials, 'subject'>,
  user: ConnectedUser,
  clock: Clock,
): TokenSource {
  const source = createTokenSource({ ...credentials, subject: () => user.token() ?? noToken() }, clock)
  return { token: (signal, rejected) => source.token(signal, rejected).catch(refusedForUser) }
}

function noToken(): never {
  throw new Fault('user_refused', 'the caller has no token to exchange', {
    details: { reason: 'NeedsToken' },
  })
}

function refusedForUser(error: unknown): never {
  if (!(error instanceof Fault) || error.code !== 'upstream_auth_required') throw error
  const details = { reason: 'ExchangeRefused', ...error.details }
  throw new Fault('user_refused', error.message, { details, cause: error })
}
