/** The catalogs of users who have lists of their own: built when they are needed, shared by users with the same lists, bounded. */
import { type Clock, delay } from '../core/async.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import type { Log } from '../core/log.ts'
import type { Caller } from '../core/mcp/caller.ts'
import type { Identity } from '../core/mcp/identity.ts'
import { userOf } from '../core/mcp/user.ts'
import { rulesFor, viewOf } from './access/view.ts'
import type { Catalog } from './catalog/catalog.ts'
import { buildOwnCatalog } from './catalog/own-lists.ts'
import type { Semantic } from './semantic/semantic.ts'
import { createNewest, type Newest } from './source/newest.ts'
import { runWithoutBlocking } from './swaps.ts'
import type { Pool } from './upstream/pool.ts'
import { LISTS_WAIT_MS } from './upstream/user-lists.ts'

/** Limit of the tools, resources, templates and prompts in all these catalogs together; each takes 1 to 3 KB. */
const ROOM = 25_000
/** What each catalog takes in addition, in the same unit as ROOM. */
const OVERHEAD = 500
/** The share of ROOM by which the lists of one user may be longer than the shared ones: while a catalog is built, others wait for theirs. */
const MAX_EXTRA_SHARE = 1 / 4
/** A catalog that was not used for this long can be removed. */
const UNUSED_MS = 60_000
const LOG_EVERY_MS = 60_000

export type OwnCatalogsOptions = {
  served: Newest<Catalog>
  pool: Pick<Pool, 'listsOf' | 'readLists'>
  semantic: Pick<Semantic, 'equipOwn'>
  clock: Clock
  log: Log
  /** For tests. */
  room?: number
}

/** A user's lists by server: those that differ from the lists that all users share. */
type Lists = ReadonlyMap<string, ServerCatalog>

/** `of`: the shared catalog from which it was built; undefined if it has to be built again. */
type OwnCatalog = { of: Catalog | undefined; catalog: Catalog; usedMs: number }

export class OwnCatalogs {
  readonly #options: OwnCatalogsOptions
  /** By `keyOf` of its lists. */
  readonly #known = new Map<string, OwnCatalog>()
  readonly #building = new Map<string, { of: Catalog; made: Promise<Catalog> }>()
  readonly #news = createNewest<{ catalog: Catalog }>()
  #last: Promise<unknown> = Promise.resolve()
  /** How often there were new vectors, to notice those that come while a catalog is built. */
  #renewals = 0
  #toldFullMs = Number.NEGATIVE_INFINITY
  /** By caller: when it was logged that the caller's lists are too long. */
  readonly #toldLong = new Map<string, number>()

  constructor(options: OwnCatalogsOptions) {
    this.#options = options
  }

  /** The caller's own catalog if it is built, otherwise `shared`, the newest catalog for all users. Builds nothing. */
  now(shared: Catalog, identity: Identity): Catalog {
    const lists = this.#listsOf(shared, identity)
    return lists ? (this.#find(shared, keyOf(lists)) ?? shared) : shared
  }

  /**
   * If they are due, reads the caller's own lists of `servers` and builds the caller's catalog, then resolves with it; resolves with `shared` after
   * two seconds. Undefined if nothing is due: `now` then returns the caller's catalog.
   */
  soon(shared: Catalog, caller: Caller, servers = shared.listedPerUser): Promise<Catalog> | undefined {
    const { pool, clock } = this.#options
    const { identity } = caller
    const readings = servers
      .filter(server => mayUse(shared, identity, server))
      .flatMap(server => pool.readLists(server, caller) ?? [])
    const built = () => this.built(shared, identity)
    if (readings.length > 0) return within(clock, Promise.all(readings).then(built), shared)
    const ready = built()
    return ready instanceof Promise ? within(clock, ready, shared) : undefined
  }

  /** The caller's catalog, which is built if necessary from the lists that are known; `shared` if these are too long or there is no room. */
  built(shared: Catalog, identity: Identity): Catalog | Promise<Catalog> {
    const lists = this.#listsOf(shared, identity)
    if (!lists) return shared
    const { room = ROOM } = this.#options
    if (moreIn(lists, shared) <= room * MAX_EXTRA_SHARE) return this.#builtWith(shared, lists)
    this.#tellLong(shared, identity, lists)
    return shared
  }

  /** Yields the newest catalog at once, then whenever it or the lists of any user have changed. */
  async *watch(signal: AbortSignal): AsyncGenerator<Catalog, void> {
    for await (const { catalog } of this.#news.watch(signal)) yield catalog
  }

  /** Passes new catalogs on to all watchers, until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    for await (const catalog of this.#options.served.watch(signal)) this.#publish(catalog)
  }

  /** The lists of a user have changed. */
  changed(): void {
    const catalog = this.#options.served.current()
    if (catalog) this.#publish(catalog)
  }

  /** There are new vectors: catalogs get them when they are used next. */
  renew(): void {
    this.#renewals++
    for (const own of this.#known.values()) own.of = undefined
  }

  #publish(catalog: Catalog): void {
    // Catalogs of users keep older shared catalogs in memory.
    this.#forgetUnused()
    this.#news.publish({ catalog })
  }

  #listsOf({ listedPerUser, catalogs }: Catalog, identity: Identity): Lists | undefined {
    if (listedPerUser.length === 0) return undefined
    const own = listedPerUser.flatMap(server => {
      const list = this.#options.pool.listsOf(server, identity)
      return list && list.digest !== catalogs.get(server)?.digest ? [[server, list] as const] : []
    })
    return own.length === 0 ? undefined : new Map(own)
  }

  #find(shared: Catalog, key: string): Catalog | undefined {
    const own = this.#known.get(key)
    if (own?.of !== shared) return undefined
    own.usedMs = this.#options.clock.elapsed()
    return own.catalog
  }

  /** Builds one catalog at a time; users with the same lists wait for the same one. */
  #builtWith(shared: Catalog, lists: Lists): Catalog | Promise<Catalog> {
    const key = keyOf(lists)
    const found = this.#find(shared, key)
    if (found) return found
    const running = this.#building.get(key)
    if (running?.of === shared) return running.made
    const made = this.#last.then(() => this.#find(shared, key) ?? this.#build(shared, lists, key))
    this.#last = made
    this.#building.set(key, { of: shared, made })
    void made.then(() => this.#building.get(key)?.made === made && this.#building.delete(key))
    return made
  }

  async #build(shared: Catalog, lists: Lists, key: string): Promise<Catalog> {
    const { clock, log } = this.#options
    const refused = () => {
      this.#known.delete(key)
      this.#tellFull()
      return shared
    }
    if (!this.#hasRoomFor(sizeOf(shared) + moreIn(lists, shared), key)) return refused()
    try {
      const before = this.#known.get(key)?.catalog
      const renewals = this.#renewals
      const catalog = await runWithoutBlocking(this.#buildAndEquip(shared, lists, before))
      // Policies may leave more of these lists than of the shared ones.
      if (!this.#hasRoomFor(sizeOf(catalog), key)) return refused()
      // New vectors came while it was built: it gets them when it is used next.
      const of = renewals === this.#renewals ? shared : undefined
      this.#known.set(key, { of, catalog, usedMs: clock.elapsed() })
      return catalog
    } catch (error) {
      log.error({ err: error }, 'the catalog of a user could not be built; the shared lists serve')
      return shared
    }
  }

  *#buildAndEquip(...from: Parameters<typeof buildOwnCatalog>): Generator<void, Catalog> {
    return yield* this.#options.semantic.equipOwn(yield* buildOwnCatalog(...from))
  }

  /** Whether a catalog of this size can be kept besides the others. Removes unused ones if that is necessary. */
  #hasRoomFor(size: number, key: string): boolean {
    const { room = ROOM } = this.#options
    const fits = () => {
      const others = [...this.#known].filter(([at]) => at !== key)
      return others.reduce((sum, [, { catalog }]) => sum + sizeOf(catalog), size) <= room
    }
    if (fits()) return true
    this.#forgetUnused()
    return fits()
  }

  #forgetUnused(): void {
    const now = this.#options.clock.elapsed()
    for (const [key, { usedMs }] of this.#known) if (now - usedMs >= UNUSED_MS) this.#known.delete(key)
  }

  #tellFull(): void {
    const { clock, log, room = ROOM } = this.#options
    if (clock.elapsed() - this.#toldFullMs < LOG_EVERY_MS) return
    this.#toldFullMs = clock.elapsed()
    log.warn(
      { catalogs: this.#known.size, room },
      'no room for the catalog of another user; the shared lists serve',
    )
  }

  #tellLong({ config }: Catalog, identity: Identity, lists: Lists): void {
    const { clock, log } = this.#options
    const now = clock.elapsed()
    for (const [at, toldMs] of this.#toldLong) if (now - toldMs >= LOG_EVERY_MS) this.#toldLong.delete(at)
    if (this.#toldLong.has(identity.id)) return
    this.#toldLong.set(identity.id, now)
    log.warn(
      { servers: [...lists.keys()], user: userOf(identity, config.access.auth?.jwt)?.id },
      'the lists of a user are too long to be searched; the shared ones serve',
    )
  }
}

/** Whether any rule lets the caller use a server. Lists are read from such servers only. */
function mayUse({ config, servers }: Catalog, identity: Identity, name: string): boolean {
  const server = servers.get(name)
  if (!server || server.status.hidden) return false
  const view = viewOf(config.access, identity)
  return !view || rulesFor(view, server).length > 0
}

/** Resolves with `made`, or with `otherwise` if that takes longer than LISTS_WAIT_MS. */
async function within(clock: Clock, made: Promise<Catalog>, otherwise: Catalog): Promise<Catalog> {
  const over = new AbortController()
  try {
    return await Promise.race([made, delay(clock, LISTS_WAIT_MS, over.signal).then(() => otherwise)])
  } finally {
    over.abort()
  }
}

/** Equal for equal lists of the same servers. */
function keyOf(lists: Lists): string {
  return [...lists].map(([server, { digest }]) => `${server}:${digest}`).join()
}

function sizeOf({ tools, extras }: Catalog): number {
  return OVERHEAD + tools.length + extras.length
}

/** How much longer lists are than the shared ones that they replace. */
function moreIn(lists: Lists, { catalogs }: Catalog): number {
  return [...lists].reduce((sum, [server, list]) => sum + lengthOf(list) - lengthOf(catalogs.get(server)), 0)
}

function lengthOf(list: ServerCatalog | undefined): number {
  if (!list) return 0
  const { tools, resources, resourceTemplates, prompts } = list
  return tools.length + resources.length + resourceTemplates.length + prompts.length
}
