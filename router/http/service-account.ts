/** Authenticates pods, such as those with a sidecar router, and the operator by their ServiceAccount tokens. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { CONSOLE_AUDIENCE } from '../../core/console/cluster.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { KEYS_UNAVAILABLE, type Refused, readBearer, refused } from '../access/bearer.ts'
import type { ServiceAccounts } from '../access/service-accounts.ts'
import { isTrusted, trustedUntilMs } from '../access/trust.ts'

export type AuthenticatorOptions = {
  accounts: ServiceAccounts
  audience: string
  /** Pods of this namespace are allowed. */
  namespace: string
  log: Log
  clock: Clock
}

/**
 * Returns the identity of the token in an `Authorization` header, or why it is refused. With `reviewMs`, the API server must also have
 * accepted the token at most this many milliseconds ago. Never rejects.
 */
export type Authenticator = (
  authorization: string | undefined,
  reviewMs?: number,
) => Promise<Identity | Refused>

/** Verified tokens that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { accounts, audience, namespace, log, clock } = options
  const good = new BoundedMap<{ identity: Identity; untilMs: number }>(MAX_REMEMBERED)
  const verifying = new Map<string, Promise<Identity | Refused>>()
  const verify = async (token: string, key: string, reviewMs?: number): Promise<Identity | Refused> => {
    try {
      const admitted = { audiences: [audience], namespaces: [namespace], reviewMs }
      const found = await accounts.verify(token, admitted)
      if (!found) return refused('UnknownToken', 'The token was not issued by this cluster.')
      if ('status' in found) return found
      // The same token keeps its identity: each new identity is a login in the audit stream.
      const identity = good.get(key)?.identity ?? found.identity
      good.set(key, { identity, untilMs: trustedUntilMs({ ...found, identity }, clock) })
      return identity
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'a ServiceAccount token could not be verified')
      return KEYS_UNAVAILABLE
    }
  }
  return async (authorization, reviewMs) => {
    const token = readBearer(authorization)
    if (typeof token !== 'string') return NO_TOKEN
    // A token that was verified without a review, or for another `reviewMs`, is verified again.
    const key = `${hash('sha256', token, 'base64')} ${reviewMs ?? ''}`
    const known = good.get(key)
    if (known && isTrusted(known, clock)) return known.identity
    const running = verifying.get(key)
    if (running) return running
    const found = verify(token, key, reviewMs).finally(() => verifying.delete(key))
    verifying.set(key, found)
    return found
  }
}

export type OperatorAuthenticatorOptions = Pick<AuthenticatorOptions, 'accounts' | 'log' | 'clock'> & {
  namespace: string
  /** The name of the operator's ServiceAccount. */
  name: string
}

/** Admits one ServiceAccount, with a token that was made for the console. */
export function createOperatorAuthenticator(options: OperatorAuthenticatorOptions): Authenticator {
  const authenticate = createAuthenticator({ ...options, audience: CONSOLE_AUDIENCE })
  const subject = `system:serviceaccount:${options.namespace}:${options.name}`
  return async authorization => {
    const found = await authenticate(authorization)
    return 'status' in found || found.subject === subject ? found : NOT_THE_OPERATOR
  }
}

const NOT_THE_OPERATOR: Refused = {
  status: 403,
  reason: 'OtherNamespace',
  message: 'Only the operator may ask for this.',
}

const NO_TOKEN: Refused = {
  status: 401,
  reason: 'NoToken',
  message: 'A ServiceAccount token is required: Authorization: Bearer <token>.',
}
