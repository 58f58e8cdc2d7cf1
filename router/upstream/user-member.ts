/** The pool member of one user of a server with `sessions: perUser`; removed when it was idle for `idleAfterMs`. */
import type { Clock, Timer } from '../../core/async.ts'
import type { Caller } from '../../core/mcp/caller.ts'
import type { CallerToken } from '../../core/mcp/caller-token.ts'
import type { McpResponse } from '../../core/mcp/protocol/json-rpc.ts'
import type { Subscription } from '../../core/mcp/upstream.ts'
import type { User } from '../../core/mcp/user.ts'
import type { PoolCall } from './pool-call.ts'
import type { PoolMember } from './pool-member.ts'
import type { UserLists } from './user-lists.ts'

export type UserMemberOptions = {
  clock: Clock
  /** Called each time, so that a changed manifest also applies to existing members. */
  idleAfterMs: () => number
  /** Whether the upstream needs the tokens of the user's calls. */
  keepsTokens: boolean
  /** Absent: the lists are the same for all users. */
  lists: UserLists | undefined
  /** Called once, when nothing has used the member for `idleAfterMs`. */
  onIdle: (member: UserMember) => void
}

export class UserMember {
  readonly user: User
  readonly member: PoolMember
  /** Revision of the credentials that the member was created with; undefined: none. */
  readonly revision: string | undefined
  readonly sinceMs: number
  readonly #options: UserMemberOptions
  /** Calls in flight and open subscriptions. */
  #uses = 0
  /** When a use last ended, in milliseconds of the clock's `elapsed`. */
  #usedAt: number
  /** The same in milliseconds since the epoch, for display. */
  #usedMs: number
  #idle: Timer | undefined
  #token: CallerToken | undefined

  constructor(user: User, member: PoolMember, revision: string | undefined, options: UserMemberOptions) {
    this.user = user
    this.member = member
    this.revision = revision
    this.#options = options
    this.sinceMs = options.clock.now()
    this.#usedAt = options.clock.elapsed()
    this.#usedMs = this.sinceMs
    this.#wait(options.idleAfterMs())
  }

  /** For how long nothing has used it, in milliseconds. */
  get idleMs(): number {
    return this.#uses > 0 ? 0 : this.#options.clock.elapsed() - this.#usedAt
  }

  /** When it was last used, in milliseconds since the epoch; now, if it is in use. */
  get usedMs(): number {
    return this.#uses > 0 ? this.#options.clock.now() : this.#usedMs
  }

  /** The user's own lists; undefined if they are the same for all users. */
  get lists(): UserLists | undefined {
    return this.#options.lists
  }

  /** The token of the user's newest call. */
  get token(): string | undefined {
    return this.#token?.reveal()
  }

  /** Reads the lists if this is due. */
  readLists(caller: Caller): void {
    if (!this.lists?.isDue()) return
    this.#keepToken(caller)
    this.lists.read()
  }

  async call(call: PoolCall, signal: AbortSignal): Promise<McpResponse> {
    this.#keepToken(call.caller)
    this.#uses++
    try {
      const answer = await this.member.call(call, signal)
      this.lists?.answered()
      return answer
    } finally {
      this.#release()
    }
  }

  /** The member is in use until `signal` aborts, unless the subscription is refused. */
  async subscribe(subscription: Subscription, signal: AbortSignal): Promise<McpResponse> {
    this.#keepToken(subscription.caller)
    this.#uses++
    let held = true
    const release = () => {
      signal.removeEventListener('abort', release)
      if (held) this.#release()
      held = false
    }
    signal.addEventListener('abort', release, { once: true })
    try {
      const answer = await this.member.subscribe(subscription, signal)
      if (answer.error || signal.aborted) release()
      return answer
    } catch (error) {
      release()
      throw error
    }
  }

  /** Call when the member is removed. */
  stop(): void {
    this.#idle?.cancel()
    this.lists?.end()
  }

  #keepToken({ token }: Caller): void {
    if (token && this.#options.keepsTokens) this.#token = token
  }

  #release(): void {
    this.#uses--
    this.#usedAt = this.#options.clock.elapsed()
    this.#usedMs = this.#options.clock.now()
  }

  /** One timer for all uses: when it fires, it checks the time since the last use. */
  #wait(ms: number): void {
    this.#idle = this.#options.clock.after(ms, () => {
      const restMs = this.#options.idleAfterMs() - this.idleMs
      if (restMs > 0) this.#wait(restMs)
      else this.#options.onIdle(this)
    })
  }
}
