/** The router's status: which catalog it serves and the state of its servers. Pure; never secrets. */
import type { LoginRecord } from '../core/catalog/login-records.ts'
import type { JsonObject } from '../core/json.ts'
import type { AccessState, AccessStates } from './access/access-state.ts'
import type { Catalog } from './catalog/catalog.ts'
import { exposedTokens } from './meta/profiles/profiles.ts'
import type { SearchStatus } from './semantic/semantic.ts'
import type { TokenUses } from './token-use.ts'
import type { PoolMemberStatus } from './upstream/pool-member.ts'
import type { WakeRequest } from './waking/wake-requests.ts'

export type RouterStatus = {
  pod: string
  gateway: string
  /** Absent before the first catalog. */
  generation?: number
  tools: number
  /** o200k_base tokens of what tools/list answers. */
  exposedTokens: number
  /** Tokens counted as direct and as served since the router's start. */
  tokens: TokenUses
  servers: {
    name: string
    state: string
    /** When the server was last called through this router, for example `2026-11-22T03:04:05.678Z`. */
    lastCall?: string
    breaker: string
    /** Calls that the server works on, that wait for a slot, whose callers answer a question, and that wait for it to be woken. */
    active?: number
    waiting?: number
    asking?: number
    held?: number
    subscriptions?: number
    /** Sessions of single clients or users: they lose their state when the server ends. */
    sessions?: number
    /** For how long nothing has used it through this router; absent while something does. */
    idleMs?: number
    /** With a pod for each user: by the digest of the user, the milliseconds for which nothing has used the pod through this router. */
    instances?: Record<string, number>
  }[]
  /** What calls wait for, and since when: the operator starts it. */
  waiting: WakeRequest[]
  /** Logins of users, sealed, that the operator has to write. Absent: none. */
  logins?: LoginRecord[]
  /** Servers whose newest slices, and `secret/<name>` of Secrets whose newest version, could not be read yet. */
  missing: string[]
  /** Why its configuration is out of date; it is then not ready. */
  stale?: string
  /** State of search by meaning. */
  search: SearchStatus
  /** The keys of each issuer of JSON Web Tokens, and what the rules grant; absent before the first catalog. */
  access?: AccessState
}

/** The status of a router. `members`: the state of the pool; `who`: everything else that the catalog does not contain. */
export function routerStatus(
  who: Pick<
    RouterStatus,
    'pod' | 'gateway' | 'missing' | 'stale' | 'search' | 'tokens' | 'waiting' | 'logins'
  >,
  catalog: Catalog | undefined,
  members: readonly PoolMemberStatus[],
  states: Pick<AccessStates, 'of'>,
): RouterStatus {
  const memberOf = new Map(members.map(member => [member.server, member]))
  return {
    ...who,
    logins: who.logins?.length ? who.logins : undefined,
    generation: catalog?.generation,
    tools: catalog?.totals.tools ?? 0,
    exposedTokens: catalog ? exposedTokens(catalog, catalog.config.profile) : 0,
    servers: (catalog?.config.servers ?? []).map(({ name, status }) => {
      const member: Partial<PoolMemberStatus> = memberOf.get(name) ?? {}
      const { lastCallAt, breaker, active, waiting, asking, held } = member
      const { subscriptions, sessions, idleMs, instances } = member
      const lastCall = lastCallAt === undefined ? undefined : new Date(lastCallAt).toISOString()
      return {
        ...{ name, state: status.state, lastCall, breaker: breaker?.state ?? 'closed' },
        // Most servers have none of these most of the time.
        ...{ active: active || undefined, waiting: waiting || undefined, asking, held },
        ...{ subscriptions, sessions, idleMs, instances },
      }
    }),
    ...(catalog && { access: states.of(catalog) }),
  }
}

/** Content of /debug/status. */
export function debugStatus(
  catalog: Catalog | undefined,
  pool: PoolMemberStatus[],
  search: SearchStatus,
): JsonObject {
  if (!catalog) return { generation: null }
  const { generation, totals, config } = catalog
  return { generation, profile: config.profile, totals, search, pool }
}
