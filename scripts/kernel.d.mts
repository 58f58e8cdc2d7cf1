/** Types of kernel.mjs. */
export function buildKernel(node: string, folder?: string): Promise<boolean>
