/** Builds calls of upstreams for tests, with the caller's properties in the same object. */
import { type Caller, createCaller } from '../../core/mcp/caller.ts'
import type { UpstreamCall } from '../../core/mcp/upstream.ts'

export type CallOptions = Partial<UpstreamCall & Caller>

export function callOf(given: CallOptions): UpstreamCall {
  const { method = 'tools/call', params, argumentsText, maxBytes = 1e6, onSent, caller, ...more } = given
  return { method, params, argumentsText, maxBytes, onSent, caller: createCaller({ ...caller, ...more }) }
}
