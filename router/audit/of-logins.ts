/** The decisions, for audit and metrics, about the steps of logins at the pages /connect. Pure. */
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { Fault, type FaultCode } from '../../core/errors.ts'
import { type Decision, shownAddress, type Who } from './line.ts'

export type LoginStep = {
  /** A browser pressed the button of a page; an issuer said who its user is; or the user is logged in to the server. */
  method: 'login/begin' | 'login/identify' | 'login/complete'
  /** The name as it is in the request; the server may not exist. */
  server: string
  /** The user; undefined while unknown. */
  who: Who | undefined
  address: string | undefined
}

/** The reasons of faults whose details have none. The authorization server is that of the issuer or of the upstream. */
const REASONS: Partial<Record<FaultCode, string>> = {
  bad_request: 'BadRequest',
  not_found: 'NotFound',
  unavailable: 'Unavailable',
  upstream_unreachable: 'AuthorizationServerUnreachable',
  upstream_timeout: 'AuthorizationServerUnreachable',
  upstream_auth_required: 'AuthorizationServerRefuses',
  upstream_protocol: 'AuthorizationServerUnusable',
}

/** The decision about a step. `error`: why it was refused; undefined if it was not. */
export function loginStepped(
  { method, server, who, address }: LoginStep,
  { servers }: Pick<RouterConfig, 'servers'>,
  error?: unknown,
): Decision {
  const isKnown = servers.some(({ name }) => name === server)
  const step = {
    event: 'login' as const,
    method,
    ...(who && { identity: who }),
    from: { address: shownAddress(address) },
    ...(isKnown && { target: { server } }),
  }
  if (error === undefined) return { ...step, decision: 'allowed' }
  const { reason, limit } = whyOf(error)
  if (limit !== undefined) return { ...step, decision: 'limited', reason, rule: limit }
  return { ...step, decision: who ? 'denied' : 'unauthenticated', reason }
}

function whyOf(error: unknown): { reason: string; limit?: string } {
  if (!(error instanceof Fault)) return { reason: 'InternalError' }
  const { reason = REASONS[error.code] ?? 'Failed', limit } = error.details
  return { reason: String(reason), ...(limit !== undefined && { limit: String(limit) }) }
}
