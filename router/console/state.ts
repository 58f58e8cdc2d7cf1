/** The state of a gateway and of its servers, as one caller of the console sees them. Pure. */
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import type { ConsoleServer, ConsoleState } from '../../core/console/shapes.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Catalog } from '../catalog/catalog.ts'
import type { SearchStatus } from '../semantic/semantic.ts'
import type { TokenUses } from '../token-use.ts'
import type { PoolMemberStatus } from '../upstream/pool-member.ts'
import type { CatalogDigest } from './catalog-digest.ts'
import type { ConsoleHost } from './host.ts'
import type { ProfileTokens } from './profile-tokens.ts'
import type { ServerPast } from './server-past.ts'

/** A page that gets too much at once is cut off. */
const MAX_INVALID = 20

export type StateFacts = {
  host: Pick<ConsoleHost, 'state' | 'server' | 'placement' | 'actions' | 'distinguishesCallers'>
  search: SearchStatus
  tokens: TokenUses
  members: readonly PoolMemberStatus[]
  past: Pick<ServerPast, 'of'>
  digestOf: CatalogDigest
  profileTokens: ProfileTokens
}

/**
 * Whether a caller sees all that the person who runs the gateway sees. If a gateway distinguishes its callers, none of them does, whatever
 * the rules grant: rules are about tools, not about calls of others or how servers run.
 */
export function seesAll({ config }: Catalog, host: Pick<ConsoleHost, 'distinguishesCallers'>): boolean {
  return !host.distinguishesCallers(config.access)
}

/** The state of the gateway. Callers that do not see all of it get no problems, actions or sums of tokens since the start. */
export function stateOf(catalog: Catalog, facts: StateFacts): ConsoleState {
  const { host, search, tokens, digestOf, profileTokens } = facts
  const { config, totals } = catalog
  const whole = seesAll(catalog, host)
  const { direct, served, saved } = tokens
  const { ready, problems } = host.state()
  return {
    gateway: config.gateway,
    placement: host.placement,
    version: packageJson.version,
    profile: config.profile,
    served: [...new Set([config.profile, ...config.allowedProfiles])],
    ready,
    totals: {
      servers: totals.servers,
      tools: totals.tools,
      resources: totals.resources,
      templates: totals.templates,
    },
    tokens: {
      direct: totals.tokens,
      profiles: profileTokens(catalog),
      sinceStart: whole ? { direct, served, saved } : { direct: 0, served: 0, saved: 0 },
    },
    search: { semantic: search.semantic, reason: whole ? search.reason : undefined, pending: search.pending },
    problems: whole ? problems : [],
    catalogDigest: digestOf(catalog),
    auth: config.access.auth !== undefined,
    actions: whole ? host.actions : [],
    whole,
  }
}

/** The state of each server. Messages may name addresses: only callers that see all of the gateway get them. */
export function serversOf(catalog: Catalog, { host, members, past }: StateFacts): ConsoleServer[] {
  const whole = seesAll(catalog, host)
  const memberOf = new Map(members.map(member => [member.server, member]))
  const parts = new Map(catalog.parts.map(part => [part.server, part]))
  return catalog.config.servers.map(server => {
    const list = catalog.catalogs.get(server.name)
    const part = parts.get(server.name)
    const observed = host.server(server.name)
    const member = memberOf.get(server.name)
    const { state, reason, message, hidden } = server.status
    const { title, description, category, transport, sessions, limits } = server
    return {
      name: server.name,
      ...{ title, description, category, transport, sessions, limits, state, reason, hidden },
      message: whole ? message : undefined,
      since: observed?.since,
      tools: part?.tools.length ?? 0,
      tokens: part?.tokens ?? 0,
      resources: part?.resources.length ?? 0,
      templates: part?.templates.length ?? 0,
      prompts: part?.prompts.length ?? 0,
      protocol: list?.protocol,
      ...invalidOf(whole ? list : undefined),
      incomplete: whole ? (list?.incomplete ?? []) : [],
      changes: whole ? observed?.changes : undefined,
      hiddenText: whole ? observed?.hiddenText : undefined,
      list: whole ? (observed?.list ?? { cached: false }) : { cached: false, at: observed?.list.at },
      load: {
        active: member?.active ?? 0,
        waiting: member?.waiting ?? 0,
        lastCallAt: whole ? member?.lastCallAt : undefined,
        breaker: { state: member?.breaker.state ?? 'closed', failures: member?.breaker.failures ?? 0 },
      },
      ...(whole ? past.of(server.name) : { recent: { calls: 0, errors: 0 }, history: [] }),
    }
  })
}

function invalidOf({
  invalid = [],
}: Partial<ServerCatalog> = {}): Pick<ConsoleServer, 'invalid' | 'moreInvalid'> {
  const more = invalid.length - MAX_INVALID
  return { invalid: invalid.slice(0, MAX_INVALID), ...(more > 0 && { moreInvalid: more }) }
}
