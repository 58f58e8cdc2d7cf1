/** The memory that a router needs for scripts, besides its own. Pure. */
import type { McpGatewaySpec } from '../../crds/gateway.ts'
import { parseBytes } from '../../crds/quantity.ts'

/** What a thread takes besides the memory of its script: the interpreter, its heap, and what crosses. */
const THREAD_BYTES = 24 * 1024 * 1024

/** 0 if scripts are off. */
export function scriptMemoryBytes({ enabled, limits }: McpGatewaySpec['code']): number {
  return enabled ? limits.scripts * (parseBytes(limits.memory) + THREAD_BYTES) : 0
}
