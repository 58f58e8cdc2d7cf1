/** Types of bundled.mjs. */
export function readyBundle(node: string, root?: string): Promise<string>
