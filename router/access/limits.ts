/** Rate limits by the generic cell rate algorithm (ITU-T I.371): one number a limit and caller, the time at which it is spent. */
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RateLimit } from '../../core/catalog/access-config.ts'
import { matches } from '../../core/catalog/policy.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'

export type Limits = {
  /** Counts a request of any kind. Returns the limit that refuses it; then it counts for none. */
  request(config: RouterConfig, identity: Identity): Limited | undefined
  /** Counts a call of a tool, by the upstream's own name. */
  call(config: RouterConfig, identity: Identity, server: string, tool: string): Limited | undefined
}

/** `waitMs`: until the next is allowed. `text`: `20 calls a minute`. */
export type Limited = { waitMs: number; text: string }

/** Callers remembered for each limit; the oldest are forgotten first. */
const MAX_CALLERS = 100_000
const EVERYONE = ''

export function createLimits(clock: Clock): Limits {
  let last: { config: RouterConfig; rules: readonly Rule[] } | undefined
  const rulesOf = (config: RouterConfig): readonly Rule[] => {
    if (last?.config !== config) last = { config, rules: rulesFor(config, last?.rules) }
    return last.rules
  }
  const take = (rules: readonly Rule[], identity: Identity): Limited | undefined => {
    const now = clock.now()
    const due: [Rule, string, number][] = []
    for (const rule of rules) {
      const caller = rule.limit.per === 'Caller' ? identity.id : EVERYONE
      const spent = spentAfter(rule, rule.spent.get(caller), now)
      const waitMs = spent - now - rule.burstMs
      if (waitMs > 0) return { waitMs: Math.ceil(waitMs), text: rule.text }
      due.push([rule, caller, spent])
    }
    for (const [rule, caller, spent] of due) rule.spent.set(caller, spent)
    return undefined
  }
  return {
    request(config, identity) {
      const rules = rulesOf(config)
      return rules.length === 0
        ? undefined
        : take(
            rules.filter(({ limit }) => limit.counts === 'requests'),
            identity,
          )
    },
    call(config, identity, server, tool) {
      const rules = rulesOf(config)
      return rules.length === 0
        ? undefined
        : take(
            rules.filter(({ limit }) => covers(limit, server, tool)),
            identity,
          )
    },
  }
}

/** The time that one request costs, and what may be spent ahead. */
type Cost = { costMs: number; burstMs: number }

type Rule = Cost & {
  key: string
  limit: RateLimit
  text: string
  spent: BoundedMap<number>
}

/** Limits that stay the same keep their counts. Each of several routers allows its share. */
function rulesFor({ access, routers = 1 }: RouterConfig, before: readonly Rule[] = []): Rule[] {
  const known = new Map(before.map(rule => [rule.key, rule]))
  return access.rateLimits.map((limit, at) => {
    const key = `${at} ${routers} ${canonicalJson(limit)}`
    const costMs = (limit.everyMs * routers) / limit.limit
    // A share of a burst is at least one request.
    const burstMs = costMs * Math.max(1, limit.burst / routers)
    return (
      known.get(key) ?? {
        key,
        limit,
        costMs,
        burstMs,
        text: textOf(limit),
        spent: new BoundedMap(MAX_CALLERS),
      }
    )
  })
}

/**
 * The time at which a limit is spent after one request more; the request is refused if that is more than `burstMs` ahead. Never further
 * ahead than a full burst before it: otherwise a clock that was set back would lock callers out.
 */
export function spentAfter({ costMs, burstMs }: Cost, spent: number | undefined, now: number): number {
  const until = Math.min(Math.max(spent ?? now, now), now + burstMs)
  return until + costMs
}

function covers({ counts, servers, tools }: RateLimit, server: string, tool: string): boolean {
  if (counts !== 'calls' || (servers && !servers.includes(server))) return false
  return tools === undefined || tools.some(pattern => matches(pattern, tool))
}

const UNITS: readonly [ms: number, one: string, short: string][] = [
  [86_400_000, 'day', 'd'],
  [3_600_000, 'hour', 'h'],
  [60_000, 'minute', 'min'],
  [1_000, 'second', 's'],
]

function textOf({ limit, counts, everyMs }: RateLimit): string {
  const [ms, one, short] = UNITS.find(([unit]) => everyMs % unit === 0) ?? [1, 'millisecond', 'ms']
  const count = everyMs / ms
  return `${limit} ${counts} ${count === 1 ? `a ${one}` : `in ${count} ${short}`}`.replace(
    'a hour',
    'an hour',
  )
}

/** What an agent is told, in words: clients drop the body of a 429. */
export function limitedSentence({ text, waitMs }: Limited): string {
  return `The limit of ${text} is reached; again in ${Math.ceil(waitMs / 1_000)} s.`
}
