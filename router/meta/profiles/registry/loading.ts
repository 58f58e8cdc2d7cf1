/** Decides which tools are active after more were requested: within the budget, the least recently used are evicted first. Pure. */

export type LoadingBudget<T> = {
  /** Limits for the tokens of all definitions, including the meta-tools, and for the number of active tools. */
  definitionTokens: number
  activeTools: number
  /** Tokens of the meta-tools' definitions, and of the definition of one tool. */
  metaTokens: number
  tokensOf: (tool: T) => number
}

export type Loading<T> = {
  /** Least recently used first. */
  active: T[]
  loaded: T[]
  /** Active before, but no longer. */
  evicted: T[]
  /** Requested, but over the budget even if everything else is evicted. */
  refused: T[]
  /** Tokens of the meta-tools and of `active`. */
  tokens: number
}

/**
 * `active`: the tools active so far, least recently used first. `wanted` tools are loaded in their order; one that was already active becomes the most
 * recently used.
 */
export function load<T>(
  active: readonly T[],
  wanted: readonly T[],
  { definitionTokens, activeTools, metaTokens, tokensOf }: LoadingBudget<T>,
): Loading<T> {
  const loaded: T[] = []
  const refused: T[] = []
  let tokens = metaTokens
  for (const tool of new Set(wanted)) {
    const fits = tokens + tokensOf(tool) <= definitionTokens && loaded.length < activeTools
    if (fits) tokens += tokensOf(tool)
    ;(fits ? loaded : refused).push(tool)
  }
  const kept: T[] = []
  for (const tool of active.toReversed()) {
    if (loaded.includes(tool)) continue
    if (kept.length + loaded.length >= activeTools || tokens + tokensOf(tool) > definitionTokens) break
    kept.unshift(tool)
    tokens += tokensOf(tool)
  }
  const next = [...kept, ...loaded]
  return { active: next, loaded, evicted: active.filter(tool => !next.includes(tool)), refused, tokens }
}
