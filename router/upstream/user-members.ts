/** A server with `sessions: perUser`: an upstream for each user, so that no two users ever share a session or a process. */
import type { Clock } from '../../core/async.ts'
import { instanceEndpoint } from '../../core/catalog/instances.ts'
import type { RouterServer, ServerUsers, UserSecret } from '../../core/catalog/router-config.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import type { Identity } from '../../core/mcp/identity.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import { type ConnectedUser, LOCAL_USER, type User, userNamed, userOf } from '../../core/mcp/user.ts'
import { tooManyUsers } from '../waking/waker.ts'
import type { BreakerStatus } from './breaker.ts'
import type { PoolCall } from './pool-call.ts'
import { needsCredentials } from './pool-faults.ts'
import { PoolMember, type PoolMemberOptions, type PoolMemberStatus } from './pool-member.ts'
import { UserLists, type UserListsDeps } from './user-lists.ts'
import { UserMember } from './user-member.ts'

/** The session, process or pod of one user, for display: without the user's key. */
export type UserStatus = {
  user: string
  subject: string
  /** In milliseconds since the epoch. */
  sinceMs: number
  /** When it was last used; now, if it is in use. */
  usedMs: number
  active: number
  breaker: BreakerStatus['state']
}

export type UserMembersOptions = Omit<PoolMemberOptions, 'connect'> & {
  /** Creates the upstream of a user without starting it. */
  connect: (server: RouterServer, user?: ConnectedUser) => ReturnType<PoolMemberOptions['connect']>
  clock: Clock
  /** Names and URLs of the issuers that the gateway admits. */
  issuers: () => readonly { name: string; issuer: string }[]
  /** Closes a member that is no longer used, after its calls in flight. */
  retire: (member: PoolMember) => void
  /** Called when a member was removed by itself: it was idle, or its user has no pod. Subscriptions may still use it. */
  onRemoved: () => void
  /** For lists that differ between users. Absent: they are not read. */
  lists?: UserListsDeps
}

const NO_FAILURES: BreakerStatus = { state: 'closed', failures: 0, retryInMs: 0 }
/** The share of `users.max` that may be opened only to read lists. The rest is reserved for calls. */
const SHARE_FOR_READING = 0.8
const BREAKERS = ['closed', 'halfOpen', 'open'] as const
const LOOPBACK_ADDRESS = /^(?:::1|127\.\d+\.\d+\.\d+)$/

export class UserMembers {
  #server: RouterServer
  /** By the user's key. */
  #secrets: ReadonlyMap<string, UserSecret>
  readonly #options: UserMembersOptions
  readonly #byKey = new Map<string, UserMember>()
  /** When the upstream of any user was last closed; at first, when this was created. */
  #usedAtMs: number

  constructor(server: RouterServer, options: UserMembersOptions) {
    this.#server = server
    this.#secrets = secretsOf(server)
    this.#options = options
    this.#usedAtMs = options.clock.elapsed()
  }

  get server(): RouterServer {
    return this.#server
  }

  /** Whether each user has a pod, which may have to be started. */
  get #hasPods(): boolean {
    const { endpoint } = this.#server
    return endpoint.kind === 'http' && endpoint.podPerUser === true
  }

  /** Whether a user's first call may have to start or wake something. */
  get #needsStart(): boolean {
    return this.#server.transport === 'stdio' || this.#server.sleep !== undefined
  }

  /** Applies new limits of the same server. Users whose credentials have changed get a new upstream. */
  adopt(server: RouterServer): void {
    this.#server = server
    this.#secrets = secretsOf(server)
    for (const user of [...this.#byKey.values()]) {
      if (this.#secrets.get(user.user.key)?.revision === user.revision)
        user.member.adopt(this.#serverOf(user.user, user.revision))
      else this.#remove(user)
    }
  }

  /** As PoolMember.call, with the upstream of the caller's user. */
  async call(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    const user = this.of(call.caller)
    try {
      return await user.call(call, signal)
    } catch (error) {
      // There is no pod for this user. If the user comes back, this is checked again.
      if (error instanceof Fault && error.details.reason === 'TooManyUsers') this.#drop(user)
      throw error
    }
  }

  /** The member of the caller's user, created if there is none yet. Throws Fault user_refused. */
  of(caller: Caller): UserMember {
    const user = this.#userOf(caller)
    return this.#byKey.get(user.key) ?? this.#create(user)
  }

  /** The user's own lists, if known. */
  listsOf(identity: Identity): ServerCatalog | undefined {
    const user = userOf(identity, this.#options.issuers())
    return user && this.#byKey.get(user.key)?.lists?.known
  }

  /**
   * Reads the own lists of the caller's user, if this is due. Resolves when they were read or reading failed; undefined if there is
   * nothing to wait for. If reading would start or wake something, they are read after the user's first call instead.
   */
  readLists(caller: Caller): Promise<void> | undefined {
    const user = userOf(caller.identity, this.#options.issuers())
    if (!user || !this.#users.ownLists) return undefined
    const member = this.#byKey.get(user.key) ?? this.#openForReading(user)
    if (!this.#needsStart) member?.readLists(caller)
    return member?.lists?.waiting()
  }

  /** A member for reading lists; undefined if its upstream would have to be started, or the user may not have one. */
  #openForReading(user: User): UserMember | undefined {
    const most = Math.floor(this.#users.max * SHARE_FOR_READING)
    if (this.#needsStart || this.#byKey.size >= most) return undefined
    try {
      return this.#create(user)
    } catch (error) {
      if (error instanceof Fault) return undefined
      throw error
    }
  }

  /** Closes the upstream of the user with this id. False if there is none. */
  end(id: string): boolean {
    const found = [...this.#byKey.values()].filter(({ user }) => user.id === id)
    for (const member of found) this.#remove(member)
    return found.length > 0
  }

  /** Closes the upstreams of all users. */
  endAll(): void {
    for (const member of [...this.#byKey.values()]) this.#remove(member)
  }

  users(): UserStatus[] {
    return [...this.#byKey.values()].map(statusOf)
  }

  /** The status of all users together. The breaker is that of the user whose calls fail least. */
  status(): PoolMemberStatus {
    const all = [...this.#byKey.values()].map(({ member }) => member.status())
    const sum = (read: (status: PoolMemberStatus) => number) =>
      all.reduce((total, status) => total + read(status), 0)
    const calledAt = all.flatMap(({ lastCallAt }) => lastCallAt ?? [])
    const [best] = all.map(({ breaker }) => breaker).sort((a, b) => rank(a.state) - rank(b.state))
    return {
      server: this.#server.name,
      used: all.some(({ used }) => used),
      active: sum(({ active }) => active),
      waiting: sum(({ waiting }) => waiting),
      asking: sum(({ asking = 0 }) => asking) || undefined,
      held: sum(({ held = 0 }) => held) || undefined,
      subscriptions: sum(({ subscriptions = 0 }) => subscriptions) || undefined,
      sessions: all.length || undefined,
      instances: this.#hasPods && all.length > 0 ? this.#instances() : undefined,
      idleMs: all.length > 0 ? undefined : this.#options.clock.elapsed() - this.#usedAtMs,
      lastCallAt: calledAt.length > 0 ? Math.max(...calledAt) : undefined,
      breaker: best ?? NO_FAILURES,
    }
  }

  #instances(): Record<string, number> {
    return Object.fromEntries([...this.#byKey.values()].map(({ user, idleMs }) => [user.digest, idleMs]))
  }

  /** The server as it is for one user: with the endpoint of the user's pod, if each user has one. `revision`: of the user's Secret. */
  #serverOf(user: User, revision: string | undefined): RouterServer {
    const { endpoint, name } = this.#server
    return endpoint.kind === 'http' && endpoint.podPerUser
      ? { ...this.#server, sleep: undefined, endpoint: instanceEndpoint(name, endpoint, user, revision) }
      : this.#server
  }

  /** If callers need no credential, all callers on this machine are one user. */
  #userOf({ identity, address = '' }: Caller): User {
    const user = userOf(identity, this.#options.issuers())
    if (user) return user
    if (this.#server.endpoint.kind === 'local' && LOOPBACK_ADDRESS.test(address)) return LOCAL_USER
    throw new Fault('user_refused', 'the caller is anonymous', { details: { reason: 'CallerUnknown' } })
  }

  #create(user: User): UserMember {
    const { max, credentials } = this.#users
    const secret = this.#secrets.get(user.key)
    if (credentials?.kind === 'secrets' && (!secret || secret.lacks !== undefined))
      throw needsCredentials(user, credentials, secret)
    if (this.#byKey.size >= max) throw tooManyUsers(max)
    const { connect, clock } = this.#options
    const connected: ConnectedUser = { ...user, token: () => created.token, secret: secret?.name }
    const options = {
      ...this.#options,
      connect: (server: RouterServer) => connect(server, connected),
      onListChanged: () => created.lists?.changed(),
    }
    const member = new PoolMember(this.#serverOf(user, secret?.revision), options)
    const created: UserMember = new UserMember(user, member, secret?.revision, {
      clock,
      keepsTokens: credentials?.kind === 'tokenExchange',
      lists: this.#listsFor(user, member),
      idleAfterMs: () => this.#users.idleAfterMs,
      onIdle: idle => this.#drop(idle),
    })
    this.#byKey.set(user.key, created)
    return created
  }

  /** Undefined if own lists are not read, or for LOCAL_USER, who stands for callers that cannot be distinguished. */
  #listsFor(user: User, member: PoolMember): UserLists | undefined {
    const { lists, clock } = this.#options
    if (!lists || user === LOCAL_USER) return undefined
    const isWanted = () => this.#users.ownLists === true
    return new UserLists({
      ...lists,
      clock,
      server: this.#server.name,
      user,
      isWanted,
      open: () => member.open(),
    })
  }

  #drop(member: UserMember): void {
    this.#remove(member)
    this.#options.onRemoved()
  }

  #remove(member: UserMember): void {
    if (this.#byKey.get(member.user.key) !== member) return
    member.stop()
    this.#byKey.delete(member.user.key)
    this.#usedAtMs = this.#options.clock.elapsed()
    this.#options.retire(member.member)
  }

  get #users(): ServerUsers {
    const { users } = this.#server
    if (!users) throw new Error(`server ${this.#server.name} has no users`)
    return users
  }
}

function secretsOf({ users }: RouterServer): Map<string, UserSecret> {
  const known = users?.credentials?.kind === 'secrets' ? users.credentials.secrets : []
  return new Map(known.flatMap(secret => [[userNamed(secret.subject)?.key ?? '', secret] as const]))
}

function statusOf({ user: { id, subject }, member, sinceMs, usedMs }: UserMember): UserStatus {
  const { active, breaker } = member.status()
  return { user: id, subject, sinceMs, usedMs, active, breaker: breaker.state }
}

function rank(state: BreakerStatus['state']): number {
  return BREAKERS.indexOf(state)
}
