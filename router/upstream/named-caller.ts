/** Names the caller of a request to a bridge, whose child may speak without saying to which call it belongs. Pure. */
import { hash } from 'node:crypto'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { CALLER_HEADER } from '../../core/mcp/protocol/caller-header.ts'
import type { PoolCall } from './pool-member.ts'

/**
 * Adds a header by which a bridge distinguishes callers: equal for the same caller of the same gateway at every replica, and without
 * anything of who it is. Only bridges get it, and nothing is added for anonymous callers.
 */
export function named(
  call: PoolCall,
  { endpoint }: RouterServer,
  gateway: RouterConfig['gateway'],
): PoolCall {
  const { identity, headers } = call.caller
  if (identity.id === '' || endpoint.kind !== 'http' || !endpoint.bearer) return call
  const name = hash('sha256', `${gateway.namespace}/${gateway.name}\n${identity.id}`, 'base64url')
  return { ...call, caller: { ...call.caller, headers: { ...headers, [CALLER_HEADER]: name } } }
}
