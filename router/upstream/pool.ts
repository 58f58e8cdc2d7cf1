/** The upstreams of all servers, one member each, kept in step with the router config. */
import type { Clock } from '../../core/async.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import { Fault } from '../../core/errors.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { SessionListener, Subscription, Upstream } from '../../core/mcp/upstream.ts'
import { type PoolCall, PoolMember, type PoolMemberStatus } from './pool-member.ts'
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
  call(server: string, call: PoolCall, signal: AbortSignal): Promise<McpResponse>
  /**
   * Passes on updates of a resource until `signal` aborts, over changes of the config too; resolves once the server took it on.
   * Throws Faults; an error that the upstream answers is an answer.
   */
  subscribe(server: string, subscription: Subscription, signal: AbortSignal): Promise<McpResponse>
  /** Who hears what sessions of single clients say and ask between calls; of several, each is told, and the first that can is asked. */
  attach(listener: SessionListener): void
  /** Hands a client's own sessions what it says besides requests, such as `notifications/roots/list_changed`. */
  tell(client: string, notification: Notification): void
  /** Ends what the upstreams keep for a client that went away, such as its own child. */
  forget(client: string): void
  /** One entry a server, sorted by name. */
  status(): PoolMemberStatus[]
  /** Ends every upstream at once, retiring ones too. */
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
    // A person who is being asked has more time than a call.
    const withinMs = member.status().asking ? LONGEST_RETIREMENT_MS : member.server.limits.callTimeoutMs
    // What an upstream says at its end helps nobody: its calls are answered by then.
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
