/** Sums of the tokens that the gateway's answers cost, and of those that its tools would have cost directly; shown in its status. */
import type { TokenKind, TokenRoute } from './observer.ts'

export type TokenUse = {
  /** What the visible tools would have cost, added at each tools/list. */
  direct: number
  /** Cost of the gateway's own answers; results of tools count on neither side. */
  served: number
  /** direct - served; negative if the gateway cost more than it saved. */
  saved: number
  kinds: Partial<Record<TokenKind, number>>
}

export type TokenUses = TokenUse & {
  /** Sums by route: the tools of a profile, or a server's own endpoint. */
  routes: Partial<Record<TokenRoute, TokenUse>>
}

export type TokenSums = {
  addDirect(route: TokenRoute, tokens: number): void
  addServed(route: TokenRoute, kind: TokenKind, tokens: number): void
  /** The current sums. */
  read(): TokenUses
}

export function createTokenSums(): TokenSums {
  const uses = new Map<TokenRoute, TokenUse>()
  const useOf = (route: TokenRoute): TokenUse => {
    const use = uses.get(route) ?? nothing()
    uses.set(route, use)
    return use
  }
  return {
    addDirect: (route, tokens) => addDirect(useOf(route), tokens),
    addServed: (route, kind, tokens) => addServed(useOf(route), kind, tokens),
    read() {
      const all = nothing()
      for (const { direct, kinds } of uses.values()) {
        addDirect(all, direct)
        for (const [kind, tokens] of Object.entries(kinds)) addServed(all, kind as TokenKind, tokens)
      }
      return { ...all, routes: structuredClone(Object.fromEntries(uses)) }
    },
  }
}

function nothing(): TokenUse {
  return { direct: 0, served: 0, saved: 0, kinds: {} }
}

function addDirect(use: TokenUse, tokens: number): void {
  use.direct += tokens
  use.saved += tokens
}

function addServed(use: TokenUse, kind: TokenKind, tokens: number): void {
  use.served += tokens
  use.saved -= tokens
  use.kinds[kind] = (use.kinds[kind] ?? 0) + tokens
}
