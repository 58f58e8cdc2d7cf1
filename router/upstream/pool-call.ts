/** One call to a server: as the pool gets it, and as the server's upstream does. */
import type { UpstreamCall } from '../../core/mcp/upstream.ts'
import type { CallPermit } from './call-permit.ts'

/** Results are read up to this size, whatever `maxResultBytes` is: their texts can only be cut after they were read. */
const MAX_BYTES_READ = 64 * 1024 * 1024

export type PoolCall = Omit<UpstreamCall, 'maxBytes' | 'onSent'> & {
  /** Gets the time (`performance.now()`) at which the call was sent, after all waits for a slot and for the server to be woken. */
  times?: { sentMs?: number }
}

/** The caller is asked through the permit, which pauses the call meanwhile. */
export function sentAs(call: PoolCall, permit: CallPermit, onSent: (() => void) | undefined): UpstreamCall {
  const { method, params, argumentsText, caller } = call
  const asked = caller.ask ? { ...caller, ask: permit.asking(caller.ask) } : caller
  return { method, params, argumentsText, caller: asked, maxBytes: MAX_BYTES_READ, onSent }
}
