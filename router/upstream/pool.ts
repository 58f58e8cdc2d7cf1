/** The upstreams of all servers, one member for each, kept in sync with the router config. */
import type { Clock } from '../../core/async.ts'
import type { JwtIssuerConfig } from '../../core/catalog/access-config.ts'
import type { RouterConfig, RouterServer } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { McpResponse, Notification } from '../../core/mcp/protocol/json-rpc.ts'
import type { SessionListener, Subscription, Upstream } from '../../core/mcp/upstream.ts'
import type { ConnectedUser } from '../../core/mcp/user.ts'
import { WakeRequests } from '../waking/wake-requests.ts'
import { withCallerHeader } from './named-caller.ts'
import type { PoolCall } from './pool-call.ts'
import { PoolMember, type PoolMemberStatus } from './pool-member.ts'
import { Retiring } from './retiring.ts'
import { createSubscriptions } from './subscriptions.ts'
import type { UserListsDeps } from './user-lists.ts'
import { UserMembers, type UserMembersOptions, type UserStatus } from './user-members.ts'

export type PoolOptions = {
  /** Creates the upstream of a server, or that of one of its users, without starting it. The pool closes the upstreams that it was given. */
  connect: (server: RouterServer, user?: ConnectedUser) => Upstream
  clock: Clock
  /** The wake requests of waiting calls. Default: those of this pool alone. */
  wakes?: WakeRequests
  /** For lists that differ between users. Absent: they are not read. */
  lists?: UserListsDeps
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
  /** Ends the sessions that the upstreams keep for a client that left, such as its own child process. */
  forget(client: string): void
  /** One entry for each server, sorted by name. */
  status(): PoolMemberStatus[]
  /** The users of each server with `sessions: perUser`, with the status of their upstreams. */
  users(): { server: string; users: UserStatus[] }[]
  /** Closes a user's upstream of a server after its calls in flight. False if there is none. */
  endUser(server: string, user: string): boolean
  /** A user's own lists of a server; undefined: they are the same for all, or not known yet. */
  listsOf(server: string, identity: Identity): ServerCatalog | undefined
  /** As UserMembers.readLists. */
  readLists(server: string, caller: Caller): Promise<void> | undefined
  /** Closes every upstream at once, retiring ones too. */
  close(): Promise<void>
}

export function createPool({
  connect,
  clock,
  wakes = new WakeRequests({ clock }),
  lists,
}: PoolOptions): Pool {
  let members = new Map<string, Member>()
  let gateway: RouterConfig['gateway'] = { name: '', namespace: '' }
  let issuers: readonly JwtIssuerConfig[] = []
  let distinguishesCallers = false
  const retiring = new Retiring()
  const listeners: SessionListener[] = []
  const options = {
    connect,
    clock,
    wakes,
    listener: listenerOf(listeners),
    issuers: () => issuers,
    retire: retiring.add,
    onRemoved: () => subscriptions.renew(),
    lists,
  }
  const memberOf = (server: string) => members.get(server)
  const subscribable = (server: string, caller: Caller) => {
    const member = memberOf(server)
    return member instanceof UserMembers ? member.of(caller) : member
  }
  const subscriptions = createSubscriptions(subscribable, clock, () => distinguishesCallers)
  const call = createCall(memberOf, () => gateway)

  return {
    update(config) {
      gateway = config.gateway
      issuers = config.access.auth?.jwt ?? []
      distinguishesCallers = config.access.auth !== undefined
      const before = members
      members = nextMembers(before, config, options)
      for (const [name, member] of before) if (members.get(name) !== member) end(member, retiring)
      subscriptions.renew()
    },
    call,
    subscribe: subscriptions.subscribe,
    attach: listener => void listeners.push(listener),
    tell(client, notification) {
      for (const member of sharedMembers(members)) member.tell(client, notification)
    },
    forget(client) {
      for (const member of sharedMembers(members)) member.forget(client)
    },
    status: () => [...members.values()].map(member => member.status()),
    users: () => usersOf(members),
    listsOf: (server, identity) => usersAt(members, server)?.listsOf(identity),
    readLists: (server, caller) => usersAt(members, server)?.readLists(caller),
    endUser(server, user) {
      const ended = usersAt(members, server)?.end(user)
      if (ended) subscriptions.renew()
      return ended ?? false
    },
    async close() {
      const before = members
      members = new Map()
      for (const member of before.values()) end(member, retiring)
      subscriptions.renew()
      await retiring.close()
    },
  }
}

type Member = PoolMember | UserMembers

function createCall(
  memberOf: (server: string) => Member | undefined,
  gateway: () => RouterConfig['gateway'],
) {
  const call: Pool['call'] = (server, given, signal) => {
    const member = memberOf(server)
    if (!member) return Promise.reject(new Fault('not_found', 'no such server in the router config'))
    const answer = member.call(withCallerHeader(given, member.server, gateway()), signal)
    if (!mayWait(member.server)) return answer
    return answer.catch(error => {
      // It waited for the server to be woken, and now waits for the member that replaced this one.
      if (error instanceof Fault && error.details.replaced) return call(server, given, signal)
      throw error
    })
  }
  return call
}

/** Whether calls to a server may wait until it, or the pod of their user, is started. */
function mayWait({ sleep, endpoint }: RouterServer): boolean {
  return sleep !== undefined || (endpoint.kind === 'http' && endpoint.podPerUser === true)
}

/** The members of a new config: those whose server needs no new connection stay. */
function nextMembers(
  members: ReadonlyMap<string, Member>,
  { servers }: RouterConfig,
  options: UserMembersOptions,
): Map<string, Member> {
  const next = new Map<string, Member>()
  for (const server of servers) {
    if (server.status.state === 'suspended' || server.status.state === 'notAccepted') continue
    if (server.endpoint.kind === 'scripts') continue
    const member = members.get(server.name)
    if (member && member.server.endpoint.revision === server.endpoint.revision) member.adopt(server)
    next.set(server.name, member && member.server === server ? member : create(server, options))
  }
  return next
}

function create(server: RouterServer, options: UserMembersOptions): Member {
  return isPerUser(server) ? new UserMembers(server, options) : new PoolMember(server, options)
}

function end(member: Member, retiring: Retiring): void {
  if (member instanceof UserMembers) member.endAll()
  else retiring.add(member)
}

function usersAt(members: ReadonlyMap<string, Member>, server: string): UserMembers | undefined {
  const member = members.get(server)
  return member instanceof UserMembers ? member : undefined
}

function usersOf(members: ReadonlyMap<string, Member>): { server: string; users: UserStatus[] }[] {
  return [...members].flatMap(([server, member]) =>
    member instanceof UserMembers ? [{ server, users: member.users() }] : [],
  )
}

/** False in a sidecar, which calls servers through its gateway: all its calls are those of one user, its pod. */
function isPerUser({ sessions, endpoint }: RouterServer): boolean {
  return sessions === 'perUser' && endpoint.kind !== 'gateway'
}

function sharedMembers(members: ReadonlyMap<string, Member>): PoolMember[] {
  return [...members.values()].filter(member => member instanceof PoolMember)
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
