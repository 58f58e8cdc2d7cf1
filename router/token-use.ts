/** What the answers of a gateway cost since its start, and what its tools would have cost directly: sums for its status. */
import type { TokenKind, TokenRoute } from './observer.ts'

export type TokenUse = {
  /** What the tools that were visible would have cost, at each tools/list. */
  direct: number
  /** What the gateway itself answered; results of tools count on neither side. */
  served: number
  /** The difference; negative where the gateway cost more than it spared. */
  saved: number
  kinds: Partial<Record<TokenKind, number>>
}

export type TokenUses = TokenUse & {
  /** By what was asked: the tools of a profile, or one server as it is. */
  routes: Partial<Record<TokenRoute, TokenUse>>
}

export type TokenSums = {
  addDirect(route: TokenRoute, tokens: number): void
  addServed(route: TokenRoute, kind: TokenKind, tokens: number): void
  /** As they are now. */
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
