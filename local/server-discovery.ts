/** Keeps one server's lists current: serves cached lists first and discovers them when due. After a failure the last valid lists stay. */
import type { Logger } from 'pino'
import type { Clock, Timer } from '../core/async.ts'
import type { HiddenText } from '../core/catalog/hidden-text.ts'
import type { ServerState } from '../core/catalog/router-config.ts'
import type { ServerCatalog } from '../core/catalog/server-catalog.ts'
import type { ToolChanges } from '../core/catalog/tool-changes.ts'
import { messageOf } from '../core/errors.ts'
import { discover } from '../core/mcp/discovery/discover.ts'
import { createSchedule, type Schedule } from '../core/mcp/discovery/schedule.ts'
import type { Upstream, UpstreamEvent } from '../core/mcp/upstream.ts'
import { discoverySpan, type Tracer } from '../core/trace.ts'
import type { CatalogCache } from './catalog-cache.ts'
import { type Failure, failureOf, oneLine } from './failure-state.ts'
import type { PinnedTools } from './pinned-tools.ts'
import type { Slots } from './start-slots.ts'

/** Minimum time between retries that are caused by calls of a failed server. */
const MIN_RETRY_MS = 2_000
/** Delay of the first discovery if a list is cached, after the start: everything that the first searches need is done before. */
const CACHED_FIRST_MS = 1_000

export type DiscoveryTarget = {
  /** metadata.name of the McpServer. */
  name: string
  /** Identifies the source of the list; the key in the cache. */
  revision: string
  upstream: Upstream
  intervalMs: () => number
  /** Whether the server is a process. A process is not started only because its list is old. */
  process: boolean
  /** Decides which tools of the list are served. */
  pins: PinnedTools
  /** Whether to discover soon even if a list is cached: for a remote server, or one that is kept running. */
  eager: boolean
}

export type DiscoveryDeps = {
  clock: Clock
  /** Returns 0 to 1, for the jitter of repeated discoveries. */
  random: () => number
  countTokens: (texts: readonly string[]) => Promise<number[]>
  cache: CatalogCache
  /** Limits how many processes start at the same time. */
  starts: Slots
  /** Resolves once the first searches can be answered: servers whose list is cached are left alone until then. */
  started: Promise<void>
  log: Logger
  /** Called after every change of what `observed` returns. */
  onChange: () => void
  /** Called after every discovery, for the metrics. */
  onDiscovered: (server: string, durationMs: number, ok: boolean) => void
  /** Absent: nothing is traced. */
  tracer?: Tracer
}

/** The current state of a server. */
export type Observed = {
  state: Exclude<ServerState, 'suspended' | 'notAccepted'>
  reason?: string
  message?: string
  /** Since when it is in this state, in milliseconds since the epoch. */
  since: number
  /** The served catalog. */
  catalog?: ServerCatalog
  /** Tools that changed since they were approved. */
  changes?: ToolChanges
  /** Hidden characters in texts that agents read. */
  hidden?: HiddenText
  /** When the list was last read from the server. */
  discoveredAt?: number
  /** Whether the list is from the cache: an earlier process read it, and this one has not read it yet. */
  cached: boolean
  /** Why the last discovery failed, if it did. */
  failure?: Failure
}

/** Repeats discovery when a list may have changed and after failures, until `close`. */
export class ServerDiscovery {
  readonly #target: DiscoveryTarget
  readonly #deps: DiscoveryDeps
  readonly #life = new AbortController()
  readonly #unsubscribe: () => void
  /** Resolves once the cached list, if there is one, is served; with whether there is one. */
  readonly cacheRead: Promise<boolean>
  #observed: Observed
  #upstreamState: 'asleep' | 'starting' | 'ready' = 'starting'
  /** Why the server is down. */
  #down: Failure | undefined
  /** Why its list could not be read, even if the server is up. */
  #listFailure: Failure | undefined
  /** The list as the server sent it, before the comparison with the approved tools. */
  #catalog: ServerCatalog | undefined
  #discoveredAt: number | undefined
  #cached = false
  /** The list must be read as soon as the server is up. */
  #due = true
  #retryAllowedAt = 0
  #running = false
  readonly #schedule: Schedule
  #timer: Timer | undefined
  #saving = Promise.resolve()

  constructor(target: DiscoveryTarget, deps: DiscoveryDeps) {
    this.#target = target
    this.#deps = deps
    this.#schedule = createSchedule(deps.random)
    this.#observed = { state: 'starting', since: deps.clock.now(), cached: false }
    this.#unsubscribe = target.upstream.onEvent(event => this.#onEvent(event))
    this.cacheRead = this.#serveCached()
    void this.cacheRead.then(isCached => (isCached ? this.#readLater() : this.#run()))
  }

  observed(): Observed {
    return this.#observed
  }

  /** Call when a caller needs the server. A failed server is tried again now. */
  retryIfFailed(): void {
    const now = this.#deps.clock.elapsed()
    const isDown = ['failed', 'authRequired'].includes(this.#observed.state)
    if (!isDown || this.#running || now < this.#retryAllowedAt) return
    this.#retryAllowedAt = now + MIN_RETRY_MS
    void this.#run()
  }

  /** Reads the lists now; starts the process if it is asleep. */
  refresh(): void {
    if (this.#running) this.#schedule.changed(this.#deps.clock.elapsed())
    else void this.#run()
  }

  /** Call when the manifest's tool policy may have changed: applies it to the list. */
  serveAgain(): void {
    void this.#target.pins.load().then(() => this.#changed())
  }

  /** Reads the approved tools again. */
  async readApprovals(): Promise<void> {
    if (await this.#target.pins.reload()) this.#changed()
  }

  /** Ends discovery at once. Resolves once what was read is stored. */
  async close(): Promise<void> {
    this.#life.abort()
    this.#timer?.cancel()
    this.#unsubscribe()
    await Promise.all([this.#saving, this.#target.pins.saved()])
  }

  async #serveCached(): Promise<boolean> {
    const { name, revision, pins } = this.#target
    await pins.load()
    const found = await this.#deps.cache.load(name, revision)
    if (found && !this.#catalog) {
      this.#catalog = found.catalog
      this.#discoveredAt = found.at
      this.#cached = true
      this.#upstreamState = 'asleep'
      this.#changed()
    }
    return found !== undefined
  }

  async #readLater(): Promise<void> {
    await this.#deps.started
    if (this.#target.eager && this.#cached) this.#after(CACHED_FIRST_MS, () => void this.#run())
  }

  /** Computes what `observed` returns, and reports the change. */
  #changed(): void {
    if (this.#life.signal.aborted) return
    const failure = this.#down ?? (this.#catalog ? undefined : this.#listFailure)
    const state = failure ? failure.state : this.#catalog ? this.#upstreamState : 'starting'
    this.#observed = {
      state,
      ...(failure ? { reason: failure.reason, message: failure.message } : {}),
      since: state === this.#observed.state ? this.#observed.since : this.#deps.clock.now(),
      ...(this.#catalog && this.#target.pins.serve(this.#catalog)),
      discoveredAt: this.#discoveredAt,
      cached: this.#cached,
      failure: failure ?? this.#listFailure,
    }
    this.#deps.onChange()
  }

  #onEvent(event: UpstreamEvent): void {
    if (event.kind === 'listChanged') {
      this.#schedule.changed(this.#deps.clock.elapsed())
      if (!this.#running) this.#plan()
    } else if (event.state === 'failed') this.#onFailed(event.reason, event.message)
    else this.#onState(event.state)
  }

  #onState(state: 'asleep' | 'starting' | 'ready'): void {
    this.#upstreamState = state
    // After a failure, `starting` means a retry: the server has not recovered yet.
    if (state === 'ready') this.#down = undefined
    this.#changed()
    if (state === 'ready' && this.#due && !this.#running) this.#runAfter(0)
  }

  #onFailed(reason: string, message: string): void {
    const state = reason === 'AuthRequired' || reason === 'NeedsLogin' ? 'authRequired' : 'failed'
    this.#down = { state, reason, message: oneLine(message) }
    this.#upstreamState = 'starting'
    this.#due = true
    this.#changed()
    if (!this.#running) this.#retry()
  }

  /** Schedules the next discovery after a failure. */
  #retry(): void {
    const { state } = this.#observed
    const kind = state === 'authRequired' ? 'refused' : this.#target.process ? 'process' : 'remote'
    this.#schedule.failed(this.#deps.clock.elapsed(), kind)
    this.#plan()
  }

  #plan(): void {
    this.#runAfter(Math.max(this.#schedule.dueAt(this.#target.intervalMs()) - this.#deps.clock.elapsed(), 0))
  }

  #runAfter(ms: number): void {
    this.#after(ms, () => {
      this.#due = true
      // A process that is asleep is not started only because its list is old; the list is read at the next start.
      if (!this.#target.process || this.#upstreamState !== 'asleep') void this.#run()
    })
  }

  #after(ms: number, run: () => void): void {
    this.#timer?.cancel()
    if (!this.#life.signal.aborted) this.#timer = this.#deps.clock.after(ms, run)
  }

  async #run(): Promise<void> {
    if (this.#running || this.#life.signal.aborted) return
    this.#running = true
    this.#timer?.cancel()
    this.#schedule.began()
    const [before, hadFailed] = [this.#catalog?.digest, this.#listFailure !== undefined]
    const { clock, starts, onDiscovered, tracer } = this.#deps
    const span = tracer?.begin(discoverySpan(this.#target.name))
    const started = clock.elapsed()
    const reading = this.#target.process ? starts.run(() => this.#readLists()) : this.#readLists()
    const failure = await reading.catch(failureOf)
    this.#running = false
    span?.end(failure?.reason)
    if (this.#life.signal.aborted) return
    onDiscovered(this.#target.name, clock.elapsed() - started, failure === undefined)
    if (failure) return this.#failed(failure)
    if (hadFailed) this.#deps.log.info({ server: this.#target.name }, 'discovery works again')
    this.#succeeded(before !== this.#catalog?.digest)
  }

  /** Serves each list as soon as it was read. Throws what `discover` throws. */
  async #readLists(): Promise<undefined> {
    await this.#target.pins.load()
    const { clock, countTokens } = this.#deps
    const options = { server: this.#target.name, clock, countTokens, previous: this.#catalog }
    for await (const found of discover(this.#target.upstream, options, this.#life.signal)) {
      if (this.#life.signal.aborted) return
      if (found.digest !== this.#catalog?.digest) this.#catalog = found
      this.#down = this.#listFailure = undefined
      this.#upstreamState = 'ready'
      this.#cached = false
      this.#discoveredAt = clock.now()
      this.#changed()
    }
  }

  #failed(failure: Failure): void {
    const { reason, message: detail } = failure
    if (reason !== this.#listFailure?.reason)
      this.#deps.log.warn({ server: this.#target.name, reason, detail }, 'discovery failed')
    this.#listFailure = failure
    if (this.#upstreamState !== 'ready' || failure.state === 'authRequired') this.#down ??= failure
    this.#changed()
    this.#retry()
  }

  #succeeded(isNew: boolean): void {
    this.#listFailure = undefined
    this.#due = false
    this.#saving = this.#saving.then(() => this.#saveToCache())
    this.#schedule.succeeded(this.#deps.clock.elapsed(), isNew)
    this.#plan()
  }

  async #saveToCache(): Promise<void> {
    if (!this.#catalog || this.#discoveredAt === undefined) return
    const { name, revision } = this.#target
    try {
      await this.#deps.cache.save(name, revision, { catalog: this.#catalog, at: this.#discoveredAt })
    } catch (error) {
      this.#deps.log.warn({ server: name, detail: messageOf(error) }, 'the list could not be cached')
    }
  }
}
