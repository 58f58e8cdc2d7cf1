/**
 * Limits of requests and calls. Rates use the generic cell rate algorithm (ITU-T I.371), which keeps one number for each limit and caller: the time
 * until which the limit is spent. Limits over an hour or more are quotas, which count requests: see quotas.ts.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../core/async.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import type { RateLimit } from '../../core/catalog/access-config.ts'
import { matches } from '../../core/catalog/policy.ts'
import type { RouterConfig } from '../../core/catalog/router-config.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import { createQuotas, type Quotas } from './quotas.ts'
import type { WindowCounts } from './window-counts.ts'

export type Limits = {
  /** Puts the limits of a config in force without waiting for the first request. */
  adopt(config: RouterConfig): void
  /** Counts a request of any kind. Returns the limit that refuses it; then no limit counts it. */
  request(config: RouterConfig, identity: Identity): Limited | undefined
  /** Counts a call of a tool, by the upstream's own name. */
  call(config: RouterConfig, identity: Identity, server: string, tool: string): Limited | undefined
}

/** `waitMs`: until the next request is allowed. `text`: the limit in words, such as `20 calls a minute`. */
export type Limited = { waitMs: number; text: string }

/** Callers remembered for each limit; the oldest are forgotten first. */
const MAX_CALLERS = 100_000
const EVERYONE = ''
/** Longer ids of callers are replaced by their digests. */
const MAX_ID = 128

/** `quotas`: those that are shared with other routers. */
export function createLimits(
  clock: Clock,
  quotas: Pick<Quotas, 'adopt'> = createQuotas('alone', clock),
): Limits {
  let last: { limits: readonly RateLimit[]; routers: number; rules: readonly Rule[] } | undefined
  /** Limits that newer ones have replaced. */
  const former = new WeakSet<readonly RateLimit[]>()
  const adopt = ({ access: { rateLimits: limits }, routers = 1 }: RouterConfig): readonly Rule[] => {
    if (last?.limits === limits && last.routers === routers) return last.rules
    if (last) former.add(last.limits)
    former.delete(limits)
    last = { limits, routers, rules: rulesFor(limits, routers, quotas.adopt(limits), last?.rules) }
    return last.rules
  }
  /**
   * Each view has its own config, but all have the same array of limits. Scripts that still run call with an earlier config, whose limits are not
   * adopted again: that would drop the counts of the newer ones.
   */
  const rulesOf = (config: RouterConfig): readonly Rule[] => {
    const { rateLimits } = config.access
    if (rateLimits.length === 0) return NONE
    return last && former.has(rateLimits) ? last.rules : adopt(config)
  }
  return {
    adopt: config => void adopt(config),
    request(config, identity) {
      const rules = rulesOf(config)
      return rules.length === 0
        ? undefined
        : take(
            rules.filter(({ limit }) => limit.counts === 'requests'),
            identity,
            clock.elapsed(),
          )
    },
    call(config, identity, server, tool) {
      const rules = rulesOf(config)
      return rules.length === 0
        ? undefined
        : take(
            rules.filter(({ limit }) => covers(limit, server, tool)),
            identity,
            clock.elapsed(),
          )
    },
  }
}

/** The time that one request costs, and how much time may be spent in advance. */
type Cost = { costMs: number; burstMs: number }

/** `quota`: the counts of a long limit, which routers share. Absent: the rate alone limits. */
type Rule = Cost & {
  key: string
  limit: RateLimit
  text: string
  spent: BoundedMap<number>
  quota: WindowCounts | undefined
  bound: { limit: number; routers: number }
}

const NONE: readonly Rule[] = []

/** Counts a request for all rules, or for none if one of them refuses it. */
function take(rules: readonly Rule[], identity: Identity, now: number): Limited | undefined {
  const due: [Rule, string, number][] = []
  for (const rule of rules) {
    const caller = rule.limit.per === 'Caller' ? idOf(identity) : EVERYONE
    const quotaMs = rule.quota?.waitMs(caller, rule.bound) ?? 0
    if (quotaMs > 0) return { waitMs: Math.ceil(quotaMs), text: rule.text }
    const spent = spentAfter(rule, rule.spent, caller, now)
    const waitMs = spent - now - rule.burstMs
    if (waitMs > 0) return { waitMs: Math.ceil(waitMs), text: rule.text }
    due.push([rule, caller, spent])
  }
  for (const [rule, caller, spent] of due) {
    rule.spent.set(caller, spent)
    rule.quota?.add(caller)
  }
  return undefined
}

/** Limits that stay the same keep their counts, also if the number of routers changes. Each of several routers allows its share of a rate. */
function rulesFor(
  limits: readonly RateLimit[],
  routers: number,
  quotas: readonly (WindowCounts | undefined)[],
  before: readonly Rule[] = [],
): Rule[] {
  const known = new Map(before.map(rule => [rule.key, rule]))
  return limits.map((limit, at) => {
    const key = `${at} ${canonicalJson(limit)}`
    const spent = known.get(key)?.spent ?? new BoundedMap<number>(MAX_CALLERS)
    const quota = quotas[at]
    const bound = { limit: limit.limit, routers }
    return { key, limit, ...costOf(limit, routers, quota), text: textOf(limit), spent, quota, bound }
  })
}

/** Costs are multiples of 1/1024 ms, so that adding them to a time is exact: rounding could refuse every request of a burst of one. */
const COST_STEPS = 1_024

/** A quota whose burst is not below its limit has no rate: its requests may come at any time. */
function costOf({ limit, everyMs, burst }: RateLimit, routers: number, quota?: WindowCounts): Cost {
  if (quota && burst >= limit) return { costMs: 0, burstMs: 0 }
  const costMs = Math.ceil((everyMs * routers * COST_STEPS) / limit) / COST_STEPS
  // A share of a burst is at least one request.
  return { costMs, burstMs: costMs * Math.max(1, burst / routers) }
}

/** The time until which a limit is spent if one more request is counted; the request has to be refused if that is more than `burstMs` ahead. */
export function spentAfter({ costMs }: Cost, spent: BoundedMap<number>, key: string, now: number): number {
  return Math.max(spent.get(key) ?? now, now) + costMs
}

function idOf({ id }: Identity): string {
  return id.length <= MAX_ID ? id : hash('sha256', id)
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

/** The sentence about a reached limit: for answers to agents, and for the body of a 429, which most clients drop. */
export function limitedSentence({ text, waitMs }: Limited): string {
  return `The limit of ${text} is reached; again in ${secondsOf(waitMs)} s.`
}

/** Milliseconds as whole seconds, rounded up, as the header `retry-after` has them. */
export function secondsOf(waitMs: number): string {
  return `${Math.ceil(waitMs / 1_000)}`
}
