/** Authenticates pods with a router of their own by their ServiceAccount tokens. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { KEYS_UNAVAILABLE, type Refused, readBearer, refused } from '../access/bearer.ts'
import type { ServiceAccounts } from '../access/service-accounts.ts'

export type AuthenticatorOptions = {
  accounts: ServiceAccounts
  audience: string
  /** Pods of this namespace are allowed. */
  namespace: string
  log: Log
  clock: Clock
}

/** Whose token an `Authorization` header has, or why it is refused. Never rejects. */
export type Authenticator = (authorization: string | undefined) => Promise<Identity | Refused>

/** How long a verified token is trusted: beside the life of keys, so a revoked key is trusted for up to twice this. */
const TRUST_MS = 5 * 60_000
/** Verified tokens that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { accounts, audience, namespace, log, clock } = options
  const good = new BoundedMap<{ identity: Identity; untilMs: number }>(MAX_REMEMBERED)
  return async authorization => {
    const token = readBearer(authorization)
    if (typeof token !== 'string') return NO_TOKEN
    const key = hash('sha256', token, 'base64')
    const known = good.get(key)
    if (known && known.untilMs > clock.now()) return known.identity
    try {
      const found = await accounts.verify(token, { audiences: [audience], namespaces: [namespace] })
      if (!found) return refused('UnknownToken', 'The token was not issued by this cluster.')
      if ('status' in found) return found
      good.set(key, { identity: found, untilMs: Math.min(found.expiresMs, clock.now() + TRUST_MS) })
      return found
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'a ServiceAccount token could not be verified')
      return KEYS_UNAVAILABLE
    }
  }
}

const NO_TOKEN: Refused = {
  status: 401,
  reason: 'NoToken',
  message: 'A ServiceAccount token is required: Authorization: Bearer <token>.',
}
