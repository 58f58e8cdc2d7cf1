/** The upstreams of all servers, one lane each, kept in step with the router config. */
import type { Clock } from '../../core/async.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type {
  ClientEars,
  Notification,
  Subscription,
  Upstream,
  UpstreamAnswer,
} from '../../core/mcp/upstream.ts'
import { Lane, type LaneCall, type LaneStatus } from './pool-member.ts'
import { createSubscriptions } from './subscriptions.ts'

/** The longest that a replaced upstream is kept for its calls in flight. */
const LONGEST_RETIREMENT_MS = 5 * 60_000

export type PoolOptions = {
  /** Makes the upstream of a server, without doing anything yet. The pool closes what it was given. */
  connect: (server: RouterServer) => Upstream
  clock: Clock
}

export type Pool = {
  /** Takes a new config: new servers are known at once, those gone or changed retire after their calls in flight. */
  update(config: RouterConfig): void
  /** Sends one request to a server by name. Throws Faults; an error that the upstream answers is an answer. */
  call(server: string, call: LaneCall, signal: AbortSignal): Promise<UpstreamAnswer>
  /**
   * Tells of changes of a resource until `signal` aborts, over changes of the config too; resolves once the server took it on.
   * Throws Faults; an error that the upstream answers is an answer.
   */
  subscribe(server: string, subscription: Subscription, signal: AbortSignal): Promise<UpstreamAnswer>
  /** Who hears what sessions of single clients say and ask between calls; of several, each is told, and the first that can is asked. */
  hear(ears: ClientEars): void
  /** Hands a client's own sessions what it says besides requests, such as `notifications/roots/list_changed`. */
  tell(client: string, notification: Notification): void
  /** Ends what the upstreams keep for a client that went away, such as its own child. */
  forget(client: string): void
  /** One entry a server, sorted by name. */
  status(): LaneStatus[]
  /** Ends every upstream at once, retiring ones too. */
  close(): Promise<void>
}

export function createPool({ connect, clock }: PoolOptions): Pool {
  let lanes = new Map<string, Lane>()
  const retiring = new Set<Lane>()
  const hearers: ClientEars[] = []
  const laneOptions = { connect, clock, ears: earsOf(hearers) }
  const subscriptions = createSubscriptions(server => lanes.get(server), clock)

  async function retire(lane: Lane): Promise<void> {
    retiring.add(lane)
    // A person who is being asked has more time than a call.
    const withinMs = lane.status().asking ? LONGEST_RETIREMENT_MS : lane.server.limits.callTimeoutMs
    // What an upstream says at its end helps nobody: its calls are answered by then.
    await lane.retire(Math.min(withinMs, LONGEST_RETIREMENT_MS)).catch(() => {})
    retiring.delete(lane)
  }

  return {
    update(config) {
      const next = new Map<string, Lane>()
      for (const server of config.servers) {
        if (server.status.state === 'suspended' || server.status.state === 'notAccepted') continue
        const lane = lanes.get(server.name)
        if (lane && lane.server.endpoint.revision === server.endpoint.revision) lane.adopt(server)
        next.set(server.name, lane && lane.server === server ? lane : new Lane(server, laneOptions))
      }
      for (const [name, lane] of lanes) if (next.get(name) !== lane) void retire(lane)
      lanes = next
      subscriptions.renew()
    },
    call(server, call, signal) {
      const lane = lanes.get(server)
      if (!lane) return Promise.reject(new Fault('not_found', 'no such server in the router config'))
      return lane.call(call, signal)
    },
    subscribe: subscriptions.add,
    hear: ears => void hearers.push(ears),
    tell(client, notification) {
      for (const lane of lanes.values()) lane.tell(client, notification)
    },
    forget(client) {
      for (const lane of lanes.values()) lane.forget(client)
    },
    status: () => [...lanes.values()].map(lane => lane.status()),
    async close() {
      const all = [...lanes.values(), ...retiring]
      lanes = new Map()
      subscriptions.renew()
      await Promise.allSettled(all.map(lane => lane.retire(0)))
    },
  }
}

function earsOf(hearers: readonly ClientEars[]): ClientEars {
  return {
    notified(client, notification) {
      for (const hearer of hearers) hearer.notified(client, notification)
    },
    asked(client, request, signal) {
      for (const hearer of hearers) {
        const answer = hearer.asked(client, request, signal)
        if (answer) return answer
      }
      return undefined
    },
  }
}
