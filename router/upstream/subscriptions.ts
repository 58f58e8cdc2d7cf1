/** Resource subscriptions that survive changes of the upstreams they use: they are kept until the subscriber ends them. */
import { type Clock, delay } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { RESOURCE_UPDATED } from '../../core/mcp/protocol/message.ts'
import { shareOf } from '../../core/mcp/server/shares.ts'
import { MAX_URIS } from '../../core/mcp/server/subscriptions.ts'
import type { Subscription } from '../../core/mcp/upstream.ts'
import { cancelled } from './call-limit.ts'
import type { PoolMember } from './pool-member.ts'

/** So large that the share of a caller is what a client may have at the front. */
const MAX_SUBSCRIPTIONS = 16 * MAX_URIS
/** Backoff after a failed attempt to subscribe again. */
const RETRY = { firstMs: 1_000, longestMs: 60_000 }
const ACCEPTED: McpResponse = { result: {} }

export type Subscriptions = {
  /** See Pool.subscribe. */
  subscribe(server: string, subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** To be called when members have changed: subscriptions of removed members are moved to the new ones. */
  renew(): void
}

/** A server's pool member, or that of one of its users. */
type Subscribable = Pick<PoolMember, 'subscribe'>

/** Throws a Fault if the server refuses the caller. */
type MemberOf = (server: string, caller: Caller) => Subscribable | undefined

type KeptSubscription = {
  server: string
  subscription: Subscription
  /** The member in use; undefined while the server is not in the config. */
  member: Subscribable | undefined
  /** Ends the subscription on the current member. */
  life: AbortController
}

export function createSubscriptions(
  memberOf: MemberOf,
  clock: Clock,
  distinguishesCallers: () => boolean = () => false,
  random: () => number = Math.random,
): Subscriptions {
  const all = new Set<KeptSubscription>()
  const counts = createCounts(distinguishesCallers)

  /** Ends a subscription on its member and begins it on the current one. */
  function move(kept: KeptSubscription): void {
    kept.life.abort()
    kept.life = new AbortController()
    kept.member = currentOf(kept, memberOf)
    if (kept.member) void resubscribe(kept, kept.member, clock, random)
  }

  /**
   * The first answer goes to the caller. An error drops the subscription, except a thrown one after the subscription has moved to another
   * member, which then subscribes again.
   */
  async function begin(kept: KeptSubscription, member: Subscribable, end: () => void): Promise<McpResponse> {
    try {
      const answer = await member.subscribe(kept.subscription, kept.life.signal)
      if (answer.error) end()
      return answer
    } catch (error) {
      if (all.has(kept) && kept.member !== member) return ACCEPTED
      end()
      throw error
    }
  }

  return {
    async subscribe(server, subscription, signal) {
      const member = memberOf(server, subscription.caller)
      if (!member) throw new Fault('not_found', 'no such server in the router config')
      if (signal.aborted) throw cancelled()
      if (all.size >= MAX_SUBSCRIPTIONS || counts.hasUsedShare(subscription.caller)) throw tooMany()
      const kept: KeptSubscription = { server, subscription, member, life: new AbortController() }
      const end = (): void => {
        if (all.delete(kept)) counts.add(subscription.caller, -1)
        signal.removeEventListener('abort', end)
        kept.life.abort(cancelled())
      }
      signal.addEventListener('abort', end)
      all.add(kept)
      counts.add(subscription.caller, 1)
      return begin(kept, member, end)
    },
    renew() {
      for (const kept of all) if (currentOf(kept, memberOf) !== kept.member) move(kept)
    },
  }
}

/** Subscribes on the member until that succeeds or the subscription leaves the member. */
async function resubscribe(
  { subscription, life: { signal } }: KeptSubscription,
  member: Subscribable,
  clock: Clock,
  random: () => number,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const answer = await member.subscribe(subscription, signal).catch(() => undefined)
    if (signal.aborted) return
    // Updates may have been missed.
    if (answer?.result) return subscription.onUpdate(updated(subscription.uri))
    await delay(clock, backoffMs(RETRY, failures, random), signal).catch(() => {})
  }
}

/** The number of subscriptions of each caller. */
function createCounts(distinguishesCallers: () => boolean) {
  const ofCaller = new Map<string, number>()
  return {
    add({ identity: { id } }: Caller, more: 1 | -1): void {
      const left = (ofCaller.get(id) ?? 0) + more
      if (left > 0) ofCaller.set(id, left)
      else ofCaller.delete(id)
    },
    hasUsedShare({ identity: { id } }: Caller): boolean {
      return distinguishesCallers() && (ofCaller.get(id) ?? 0) >= shareOf(id, MAX_SUBSCRIPTIONS)
    },
  }
}

function tooMany(): Fault {
  return new Fault('upstream_busy', 'too many subscriptions', { details: { subscriptions: true } })
}

/** Undefined too if the server now refuses the subscriber. */
function currentOf({ server, subscription }: KeptSubscription, memberOf: MemberOf): Subscribable | undefined {
  try {
    return memberOf(server, subscription.caller)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

function updated(uri: string) {
  return { method: RESOURCE_UPDATED, params: { uri } }
}
