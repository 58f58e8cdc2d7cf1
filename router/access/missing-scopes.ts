/** Finds the scopes that a call of something visible needs and the caller's token lacks. */
import type { RouterServer } from '../../core/catalog/router-config.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { type Granted, scopesFor } from './view.ts'

/** Thrown where a request would be sent to its server, and answered by a challenge. */
export class ScopesMissing extends Error {
  /** The scopes to ask for, all in one challenge. */
  readonly scopes: readonly string[]

  constructor(scopes: readonly string[]) {
    super(`This needs a token with the scopes: ${scopes.join(' ')}.`)
    this.scopes = scopes
  }
}

/** The scopes to ask for, all in one challenge; empty if a rule grants it without further scopes. */
export function scopesToAskFor(
  { view, config }: Pick<Catalog, 'view' | 'config'>,
  identity: Identity,
  server: RouterServer,
  granted: Granted,
): readonly string[] {
  if (!view || view.challenging.length === 0) return NONE
  const needed = scopesFor(view, identity, server, granted)
  if (needed.length === 0) return NONE
  const { auth, rules } = config.access
  const required = auth?.jwt.find(({ name }) => name === identity.issuer)?.requiredScopes ?? []
  // Names again what the token has: otherwise the client's new token would lack it (MCP 2026-07-28, authorization, step-up).
  const known = new Set([...required, ...rules.flatMap(({ scopes }) => scopes)])
  const kept = identity.scopes?.filter(scope => known.has(scope)) ?? []
  return [...new Set([...required, ...kept, ...needed])]
}

const NONE: readonly string[] = []
