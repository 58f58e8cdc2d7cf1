/** Authenticates sidecars by their ServiceAccount tokens. */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { messageOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { type Refused, readBearer } from '../access/bearer.ts'
import type { ServiceAccounts } from '../access/service-accounts.ts'

export type AuthenticatorOptions = {
  accounts: ServiceAccounts
  audience: string
  /** Pods of this namespace are allowed. */
  namespace: string
  log: Log
  clock: Clock
}

/** Checks an `Authorization` header; resolves with undefined if the caller is allowed. Never rejects. */
export type Authenticator = (
  authorization: string | undefined,
) => Promise<Omit<Refused, 'reason'> | undefined>

/** How long a verified token is trusted: beside the life of keys, so a revoked key is trusted for up to twice this. */
const TRUST_MS = 5 * 60_000
/** Verified tokens that are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 1_000

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { accounts, audience, namespace, log, clock } = options
  const good = new BoundedMap<number>(MAX_REMEMBERED)
  return async authorization => {
    const token = readBearer(authorization)
    if (typeof token !== 'string')
      return { status: 401, message: 'A ServiceAccount token is required: Authorization: Bearer <token>.' }
    const key = hash('sha256', token, 'base64')
    const goodUntil = good.get(key)
    if (goodUntil !== undefined && goodUntil > clock.now()) return undefined
    try {
      const found = await accounts.verify(token, { audiences: [audience], namespaces: [namespace] })
      if (!found)
        return { status: 401, error: 'invalid_token', message: 'The token was not issued by this cluster.' }
      if ('status' in found) return found
      good.set(key, Math.min(found.expiresMs, clock.now() + TRUST_MS))
      return undefined
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'a ServiceAccount token could not be verified')
      return { status: 503, message: 'Tokens cannot be verified now; try again in a moment.' }
    }
  }
}
