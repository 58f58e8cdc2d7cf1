/** Types of bundled.mjs. */
export function removeOld(cache: string): void
export function readyBundle(node: string, root?: string): Promise<string>
