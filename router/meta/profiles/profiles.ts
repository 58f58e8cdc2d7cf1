/** The profiles of a gateway, and the tokens of what each lists. */
import type { Profile } from '../../../core/catalog/router-config.ts'
import type { McpRoute } from '../../../core/mcp/server/handler.ts'
import { type Catalog, isShown } from '../../catalog/catalog.ts'
import { listedTokens } from '../listing/listed-definition.ts'
import type { ProfileWords } from '../wording/profile-words.ts'
import { code } from './code/profile.ts'
import { direct } from './direct/profile.ts'
import { hierarchical } from './hierarchical/profile.ts'
import { definitionTokens, type ProfileTools, runsScripts } from './profile.ts'
import { registry } from './registry/profile.ts'
import { search } from './search/profile.ts'

export const PROFILES: Readonly<Record<Profile, ProfileTools>> = {
  hierarchical,
  search,
  registry,
  direct,
  code,
}

/** The texts used in a route's answers; a single server's endpoint has no meta-tools. */
export function wordsOf(route: McpRoute): ProfileWords {
  return PROFILES[route.kind === 'server' ? 'direct' : route.profile].words
}

/** o200k_base tokens of the answer of tools/list to a client that has activated nothing. */
export function exposedTokens(catalog: Catalog, profile: Profile): number {
  if (profile !== 'direct') return definitionTokens(catalog, PROFILES[profile])
  const shown = catalog.tools.filter(tool => isShown(catalog, tool.server))
  const scriptTokens = runsScripts(catalog) ? PROFILES.direct.prices.script : 0
  return shown.reduce((sum, tool) => sum + listedTokens(tool), scriptTokens)
}

/** exposedTokens of every profile that the gateway serves, its default first. */
export function servedTokens(catalog: Catalog): Partial<Record<Profile, number>> {
  const { profile, allowedProfiles } = catalog.config
  const names = [...new Set([profile, ...allowedProfiles])]
  return Object.fromEntries(names.map(name => [name, exposedTokens(catalog, name)]))
}
