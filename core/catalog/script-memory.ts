/** The memory that a router needs for running scripts, in addition to what it needs anyway. Pure. */
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseBytes } from '../../crds/quantity.ts'

/** What a thread takes besides the memory of its script: the interpreter, its heap, and the values passed in and out. */
const THREAD_BYTES = 24 * 1024 * 1024

/** For as many scripts as may run at once, and as many that wait for people or were called by others; 0 if scripts are off. */
export function scriptMemoryBytes({ enabled, limits }: McpGatewaySpec['code']): number {
  return enabled ? 2 * limits.scripts * (parseBytes(limits.memory) + THREAD_BYTES) : 0
}
