/** Decides which tools are active after some more were wanted: within the budget, the least recently used go first. Pure. */

export type LoadingBudget<T> = {
  /** What the definitions may cost together, those of the meta-tools included. */
  definitionTokens: number
  activeTools: number
  /** What the meta-tools cost, and what a definition costs. */
  metaTokens: number
  tokensOf: (tool: T) => number
}

export type Loading<T> = {
  /** The least recently used first. */
  active: T[]
  loaded: T[]
  /** Active before, and no longer. */
  evicted: T[]
  /** Wanted, and over the budget even when everything else goes. */
  refused: T[]
  /** What the meta-tools and `active` cost. */
  tokens: number
}

/** `active`: the least recently used first. Of `wanted` the first are loaded first; what was active already is loaded again. */
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
