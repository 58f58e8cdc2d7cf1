/** One user's own lists of a server, read through the user's upstream and kept as long as that upstream. */
import type { Clock, Timer } from '../../core/async.ts'
import { backoffMs } from '../../core/backoff.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { type DiscoverOptions, discover } from '../../core/mcp/discovery/discover.ts'
import type { Upstream } from '../../core/mcp/upstream.ts'
import type { User } from '../../core/mcp/user.ts'
import { estimateTokens } from '../catalog/estimate.ts'
import type { ListRoom } from './list-room.ts'

/** What the lists of all users need. */
export type UserListsDeps = {
  /** The lists of a server that all users share; undefined before they are known. */
  shared: (server: string) => ServerCatalog | undefined
  room: ListRoom
  /** Called when a user's lists have changed or were removed. */
  onChanged: () => void
  /** Called when lists could not be read, only for the first failure in a row. */
  onFailed: (server: string, user: User, error: unknown) => void
}

export type UserListsOptions = UserListsDeps & {
  server: string
  user: User
  clock: Clock
  /** Whether users have lists of their own; called each time, since the manifest may change. */
  isWanted: () => boolean
  /** The upstream of the user, which is opened if necessary. */
  open: () => Upstream
}

/** For how long requests wait for lists that are being read. */
export const LISTS_WAIT_MS = 2_000
/** Delay of a reading after `list_changed`, since servers often send several at once. */
const CHANGED_WAIT_MS = 200
/** Minimum time between readings after `list_changed`, since each may build a search index. It doubles until the server was quiet for a minute. */
const CHANGED_GAP = { firstMs: 1_000, longestMs: 30_000, quietMs: 60_000 }
const RETRY = { firstMs: 2_000, longestMs: 60_000 }
/** Differs from every digest of shared lists: the lists must be read. */
const UNREAD = Symbol('unread')

export class UserLists {
  readonly #options: UserListsOptions
  readonly #life = new AbortController()
  #known: ServerCatalog | undefined
  /** Digest of the shared lists at the time of reading. When those change, the lists of the user may have changed too. */
  #sharedDigest: string | undefined | typeof UNREAD = UNREAD
  /** When lists are read again because some could not be read, even if the shared ones have not changed. */
  #againMs = Number.POSITIVE_INFINITY
  #reading: { done: Promise<void>; begunMs: number } | undefined
  #readMs = Number.NEGATIVE_INFINITY
  #failures = 0
  #retryMs = Number.NEGATIVE_INFINITY
  /** The timer of the next reading after a change. */
  #changing: Timer | undefined
  #gapMs = CHANGED_GAP.firstMs

  constructor(options: UserListsOptions) {
    this.#options = options
  }

  /** The newest lists whose tools were read; other lists may be older, and are empty if they could not be read yet. */
  get known(): ServerCatalog | undefined {
    return this.#options.isWanted() ? this.#known : undefined
  }

  /** Whether the lists have to be read: never read, or read incompletely a minute ago, or the shared ones have changed since. */
  isDue(): boolean {
    const { clock, isWanted } = this.#options
    if (!isWanted() || clock.elapsed() < this.#retryMs) return false
    return this.#sharedDigest !== this.#shared?.digest || clock.elapsed() >= this.#againMs
  }

  /** The user's upstream has answered a call, so it is up, and a pause after failures can end. */
  answered(): void {
    const { isWanted, clock } = this.#options
    if (!isWanted()) return
    if (this.#failures > 0 && clock.elapsed() - this.#readMs >= RETRY.firstMs)
      this.#retryMs = Number.NEGATIVE_INFINITY
    if (this.isDue()) this.read()
  }

  /** Resolves when the current reading ends; undefined if there is none, or if it has taken LISTS_WAIT_MS already. */
  waiting(): Promise<void> | undefined {
    const { done, begunMs = 0 } = this.#reading ?? {}
    return this.#options.clock.elapsed() - begunMs < LISTS_WAIT_MS ? done : undefined
  }

  /** Reads the lists, unless they are being read already. The caller need not wait for it. Never rejects. */
  read(): void {
    if (this.#reading || this.#life.signal.aborted) return
    const begunMs = this.#options.clock.elapsed()
    const done = this.#read().finally(() => {
      this.#reading = undefined
      this.#readMs = this.#options.clock.elapsed()
    })
    this.#reading = { done, begunMs }
  }

  /** The server has notified the user of changed lists: they are read again, at most once a second, and rarely if it notifies all the time. */
  changed(): void {
    const { clock, isWanted } = this.#options
    if (!isWanted() || this.#sharedDigest === UNREAD || this.#changing || this.#life.signal.aborted) return
    const quietMs = clock.elapsed() - this.#readMs
    if (quietMs > CHANGED_GAP.quietMs) this.#gapMs = CHANGED_GAP.firstMs
    this.#changing = clock.after(Math.max(CHANGED_WAIT_MS, this.#gapMs - quietMs), () => {
      this.#changing = undefined
      // A reading that has already begun may return the state before the change.
      if (this.#reading) return void this.#reading.done.then(() => this.changed())
      this.#gapMs = Math.min(2 * this.#gapMs, CHANGED_GAP.longestMs)
      this.read()
    })
  }

  /** Call when the user's upstream is removed. */
  end(): void {
    if (this.#life.signal.aborted) return
    this.#life.abort()
    this.#changing?.cancel()
    this.#options.room.free(this)
    this.#known = undefined
    this.#options.onChanged()
  }

  get #shared(): ServerCatalog | undefined {
    return this.#options.shared(this.#options.server)
  }

  async #read(): Promise<void> {
    const { room, clock, server, user, onFailed } = this.#options
    const { signal } = this.#life
    try {
      const shared = this.#shared
      const found = await room.turn(server, () => this.#discover(shared), signal)
      if (signal.aborted) return
      this.#failures = 0
      this.#retryMs = Number.NEGATIVE_INFINITY
      this.#sharedDigest = shared?.digest
      const isComplete = found?.incomplete.length === 0
      this.#againMs = isComplete ? Number.POSITIVE_INFINITY : clock.elapsed() + RETRY.longestMs
      if (!this.#adopt(found)) this.#readAgainAt(clock.elapsed() + RETRY.longestMs)
    } catch (error) {
      if (signal.aborted) return
      if (this.#failures === 0) onFailed(server, user, error)
      this.#readAgainAt(clock.elapsed() + backoffMs(RETRY, this.#failures++, Math.random))
    }
  }

  async #discover(shared: ServerCatalog | undefined): Promise<ServerCatalog | undefined> {
    const { open, server, clock } = this.#options
    const countTokens = async (texts: readonly string[]) => texts.map(estimateTokens)
    const options = { server, clock, countTokens, previous: this.#previous(shared) }
    let last: ServerCatalog | undefined
    for await (const found of discover(open(), options, this.#life.signal)) last = found
    return last
  }

  /**
   * A list that cannot be read is replaced only by a former list of the same user. Token counts come from the shared lists or are
   * estimated, so that equal lists of different users have equal digests, whatever was read before.
   */
  #previous(shared: ServerCatalog | undefined): DiscoverOptions['previous'] {
    const { resources = [], resourceTemplates = [], prompts = [] } = this.#known ?? {}
    return { tools: shared?.tools ?? [], resources, resourceTemplates, prompts, incomplete: [] }
  }

  #readAgainAt(ms: number): void {
    this.#sharedDigest = UNREAD
    this.#retryMs = ms
  }

  /** Keeps the lists that were found, if any; false if there are none or no room for them. */
  #adopt(found: ServerCatalog | undefined): boolean {
    const before = this.#known
    this.#known = found && this.#options.room.take(this, found) ? found : undefined
    if (this.#known?.digest !== before?.digest) this.#options.onChanged()
    return this.#known !== undefined
  }
}
