/** OAuth client credentials: one token for all callers, renewed shortly before it expires and when the upstream refuses it. */
import type { Clock } from '../../../async.ts'
import { waitFor } from '../../../deadline.ts'
import type { HostGuard } from '../../../host-guard.ts'
import { upstreamDeadline } from '../../upstream-deadline.ts'
import { createTokenRequest } from './oauth-request.ts'
import type { RemoteSpec } from './spec.ts'

const TOKEN_TIMEOUT_MS = 10_000
/** A token without `expires_in` is kept this long. */
const UNKNOWN_LIFE_MS = 5 * 60_000
/** A token is renewed this long before it expires, but never in the first nine tenths of its life. */
const RENEW_BEFORE_MS = 30_000

export type TokenSource = {
  /**
   * A token that is still valid. `rejected` is one that the upstream refused: then a new one is requested.
   * Throws Fault upstream_auth_required, upstream_unreachable, upstream_timeout, upstream_protocol.
   */
  token(signal: AbortSignal, rejected?: string): Promise<string>
}

export type ClientCredentials = {
  /** Absent: each renewal discovers the authorization server from the upstream. */
  tokenUrl?: string
  clientId: string
  /** The secret's value, resolved by the caller. */
  clientSecret: string
  scopes?: readonly string[]
  audience?: string
  /** The token to exchange (RFC 8693), read for each request. Absent: the client asks for a token of its own. */
  subject?: () => string
  /** As in RemoteDeps, for the authorization server. */
  guard?: HostGuard
  /** The upstream that the tokens are for. */
  upstream: Pick<RemoteSpec, 'url' | 'transport'>
}

type Token = { value: string; renewAt: number }

/** Concurrent callers share one request for a token. */
export function createTokenSource(credentials: ClientCredentials, clock: Clock): TokenSource {
  const request = createTokenRequest(credentials)
  let current: Token | undefined
  let renewal: Promise<Token> | undefined

  const renew = async () => {
    const limit = upstreamDeadline(
      clock,
      TOKEN_TIMEOUT_MS,
      'The authorization server does not answer in time',
    )
    try {
      const { value, lifeSeconds } = await request(limit.signal)
      const lifeMs = lifeSeconds === undefined ? UNKNOWN_LIFE_MS : lifeSeconds * 1000
      current = { value, renewAt: clock.now() + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 10) }
      return current
    } finally {
      limit.clear()
      renewal = undefined
    }
  }

  return {
    async token(signal, rejected) {
      if (current && current.value !== rejected && clock.now() < current.renewAt) return current.value
      renewal ??= renew()
      return (await waitFor(renewal, signal)).value
    },
  }
}
