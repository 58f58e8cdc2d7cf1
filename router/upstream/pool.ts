/** The upstreams of all servers, one member for each, kept in sync with the router config. */
import type { Clock } from '../../core/async.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { SessionListener, Subscription, Upstream } from '../../core/mcp/upstream.ts'
import { type PoolCall, PoolMember, type PoolMemberStatus } from './pool-member.ts'
import { createSubscriptions } from './subscriptions.ts'

/** The longest time for which a replaced upstream is kept for its calls in flight. */
const LONGEST_RETIREMENT_MS = 5 * 60_000

export type PoolOptions = {
  /** Creates the upstream of a server without starting it. The pool closes the upstreams that it was given. */
  connect: (server: RouterServer) => Upstream
  clock: Clock
}

export type Pool = {
  /** Applies a new config: new servers can be called at once; removed or changed ones retire after their calls in flight. */
  update(config: RouterConfig): void
  /** Sends one request to a server by name. Throws Faults; an upstream's JSON-RPC error is a normal answer. */
  call(server: string, call: PoolCall, signal: AbortSignal): Promise<McpResponse>
  /**
   * Passes on updates of a resource until `signal` aborts, also across changes of the config. Resolves once the server accepted the
   * subscription. Throws Faults; an upstream's JSON-RPC error is a normal answer.
   */
  subscribe(server: string, subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /**
   * Adds a listener for what single clients' sessions send and ask between calls. All listeners get notifications; the first one
   * able to answer gets questions.
   */
  attach(listener: SessionListener): void
  /** Forwards a client's notification, such as `notifications/roots/list_changed`, to its own sessions. */
  tell(client: string, notification: Notification): void
  /** Ends what the upstreams keep for a client that left, such as its own child process. */
  forget(client: string): void
  /** One entry for each server, sorted by name. */
  status(): PoolMemberStatus[]
  /** Closes every upstream at once, retiring ones too. */
  close(): Promise<void>
}

export function createPool({ connect, clock }: PoolOptions): Pool {
  let members = new Map<string, PoolMember>()
  const retiring = new Set<PoolMember>()
  const listeners: SessionListener[] = []
  const memberOptions = { connect, clock, listener: listenerOf(listeners) }
  const subscriptions = createSubscriptions(server => members.get(server), clock)

  async function retire(member: PoolMember): Promise<void> {
    retiring.add(member)
    // A person who answers a question has more time than a call.
    const withinMs = member.status().asking ? LONGEST_RETIREMENT_MS : member.server.limits.callTimeoutMs
    // Errors while closing are ignored: all calls have been answered by then.
    await member.retire(Math.min(withinMs, LONGEST_RETIREMENT_MS)).catch(() => {})
    retiring.delete(member)
  }

  return {
    update(config) {
      const next = new Map<string, PoolMember>()
      for (const server of config.servers) {
        if (server.status.state === 'suspended' || server.status.state === 'notAccepted') continue
        const member = members.get(server.name)
        if (member && member.server.endpoint.revision === server.endpoint.revision) member.adopt(server)
        next.set(
          server.name,
          member && member.server === server ? member : new PoolMember(server, memberOptions),
        )
      }
      for (const [name, member] of members) if (next.get(name) !== member) void retire(member)
      members = next
      subscriptions.renew()
    },
    call(server, call, signal) {
      const member = members.get(server)
      if (!member) return Promise.reject(new Fault('not_found', 'no such server in the router config'))
      return member.call(call, signal)
    },
    subscribe: subscriptions.subscribe,
    attach: listener => void listeners.push(listener),
    tell(client, notification) {
      for (const member of members.values()) member.tell(client, notification)
    },
    forget(client) {
      for (const member of members.values()) member.forget(client)
    },
    status: () => [...members.values()].map(member => member.status()),
    async close() {
      const all = [...members.values(), ...retiring]
      members = new Map()
      subscriptions.renew()
      await Promise.allSettled(all.map(member => member.retire(0)))
    },
  }
}

function listenerOf(listeners: readonly SessionListener[]): SessionListener {
  return {
    notified(client, notification) {
      for (const listener of listeners) listener.notified(client, notification)
    },
    asked(client, request, signal) {
      for (const listener of listeners) {
        const answer = listener.asked(client, request, signal)
        if (answer) return answer
      }
      return undefined
    },
  }
}
