/** Subscriptions to resources of servers, kept for as long as somebody wants them, whatever becomes of the lanes that they go over. */
import type { Clock } from '../../core/async.ts'
import { Fault } from '../../core/errors.ts'
import type { Subscription, UpstreamAnswer } from '../../core/mcp/upstream.ts'
import { cancelled } from './call-limit.ts'
import type { Lane } from './pool-member.ts'

const MAX_SUBSCRIPTIONS = 10_000
/** So long after a lane did not take one on it is tried again; each time in a row it is twice as long. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
const TAKEN: UpstreamAnswer = { result: {} }

export type Subscriptions = {
  /** Tells until `signal` aborts; resolves once the server took it on. Throws Faults. */
  add(server: string, subscription: Subscription, signal: AbortSignal): Promise<UpstreamAnswer>
  /** Lanes have changed: what went over those that are gone is taken up on the new ones. */
  renew(): void
}

type Kept = {
  server: string
  subscription: Subscription
  /** Where it goes over; undefined while its server is not there. */
  lane: Lane | undefined
  /** Ends it on that lane. */
  life: AbortController
}

export function createSubscriptions(
  laneOf: (server: string) => Lane | undefined,
  clock: Clock,
): Subscriptions {
  const all = new Set<Kept>()

  function move(kept: Kept): void {
    kept.life.abort()
    kept.life = new AbortController()
    kept.lane = laneOf(kept.server)
    if (kept.lane) void takeUp(kept, kept.lane, FIRST_PAUSE_MS)
  }

  async function takeUp(kept: Kept, lane: Lane, pauseMs: number): Promise<void> {
    const { subscription, life } = kept
    const answer = await lane.subscribe(subscription, life.signal).catch(() => undefined)
    if (life.signal.aborted) return
    // What changed meanwhile, nobody told.
    if (answer?.result) return subscription.onUpdate(updated(subscription.uri))
    const again = clock.after(pauseMs, () => void takeUp(kept, lane, Math.min(2 * pauseMs, LONGEST_PAUSE_MS)))
    life.signal.addEventListener('abort', () => again.cancel(), { once: true })
  }

  /** The first answer is the caller's: where it is none, the subscription is not kept, unless it goes over another lane by then. */
  async function begin(kept: Kept, lane: Lane, end: () => void): Promise<UpstreamAnswer> {
    try {
      const answer = await lane.subscribe(kept.subscription, kept.life.signal)
      if (answer.error) end()
      return answer
    } catch (error) {
      if (all.has(kept) && kept.lane !== lane) return TAKEN
      end()
      throw error
    }
  }

  return {
    async add(server, subscription, signal) {
      const lane = laneOf(server)
      if (!lane) throw new Fault('not_found', 'no such server in the router config')
      if (signal.aborted) throw cancelled()
      if (all.size >= MAX_SUBSCRIPTIONS) throw new Fault('upstream_busy', 'too many subscriptions')
      const kept: Kept = { server, subscription, lane, life: new AbortController() }
      const end = (): void => {
        all.delete(kept)
        signal.removeEventListener('abort', end)
        kept.life.abort(cancelled())
      }
      signal.addEventListener('abort', end)
      all.add(kept)
      return begin(kept, lane, end)
    },
    renew() {
      for (const kept of all) if (laneOf(kept.server) !== kept.lane) move(kept)
    },
  }
}

function updated(uri: string) {
  return { method: 'notifications/resources/updated', params: { uri } }
}
