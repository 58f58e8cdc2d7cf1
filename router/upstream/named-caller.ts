/** Identifies the caller of a request to a bridge, whose child may send messages that do not name their call. Pure. */
import { hash } from 'node:crypto'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { CALLER_HEADER } from '../../core/mcp/protocol/caller-header.ts'
import type { PoolCall } from './pool-call.ts'

/**
 * Adds a header by which a bridge distinguishes callers: a hash that is equal at all replicas of the gateway and does not reveal the
 * identity. Only requests to bridges get it, except those of anonymous callers.
 */
export function withCallerHeader(
  call: PoolCall,
  { endpoint }: RouterServer,
  gateway: RouterConfig['gateway'],
): PoolCall {
  const { identity, headers } = call.caller
  if (identity.id === '' || endpoint.kind !== 'http' || !endpoint.bearer) return call
  const callerHash = hash('sha256', `${gateway.namespace}/${gateway.name}\n${identity.id}`, 'base64url')
  return { ...call, caller: { ...call.caller, headers: { ...headers, [CALLER_HEADER]: callerHash } } }
}
