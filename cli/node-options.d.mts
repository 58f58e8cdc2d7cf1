/** Types of node-options.mjs. */
export const NODE_OPTIONS: readonly string[]
export const HEAP_OPTIONS: readonly string[]
export const SERVING_OPTIONS: readonly string[]
export const MALLOC: Readonly<Record<string, string>>
