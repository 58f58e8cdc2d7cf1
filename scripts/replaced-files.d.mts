/** Types of replaced-files.mjs. */
export function replaceFiles(root: string, aside: string, contents: Record<string, string>): void
export function restoreFiles(root: string, aside: string, files: string[], kept: string): string[]
