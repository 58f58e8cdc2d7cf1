/** Types of model.mjs. */
type Env = Readonly<Record<string, string | undefined>>
export function modelFile(env: Env): string
export function readyModel(node: string, env: Env, options?: { sure?: boolean }): Promise<boolean>
