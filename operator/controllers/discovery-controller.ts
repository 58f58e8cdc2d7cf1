/** The discovery controller: reads the lists of servers when pods or manifests change, when a server sends `list_changed`, on request, and at intervals. */
import type { Clock } from '../../core/async.ts'
import type { ServerCatalog } from '../../core/catalog/server-catalog.ts'
import { Fault, messageOf } from '../../core/errors.ts'
import type { HostGuard } from '../../core/host-guard.ts'
import { ApiError, isDenied } from '../../core/kube/api-error.ts'
import type { KubeClient } from '../../core/kube/client.ts'
import type { Log } from '../../core/log.ts'
import type { createConnector } from '../../core/mcp/client/connector.ts'
import { harmless } from '../../core/mcp/client/stdio/harmless.ts'
import { discover } from '../../core/mcp/discovery/discover.ts'
import { discoveryIntervalMs, type Schedule } from '../../core/mcp/discovery/schedule.ts'
import type { UpstreamInfo } from '../../core/mcp/upstream.ts'
import { discoverySpan, type Tracer } from '../../core/trace.ts'
import { refreshOf } from '../../crds/annotations.ts'
import type { Caches } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import type { OperatorMetrics } from '../runtime/operator-metrics.ts'
import { Queue } from '../runtime/queue.ts'
import type { CountTokens } from './description-tokens.ts'
import { createMemory, type Memory, wantedOf } from './discovery-memory.ts'
import { isDiscovered, isNowApproved, isObservedAt } from './discovery-status.ts'
import type { Target, Targets } from './discovery-targets.ts'
import { wakeOnChanges } from './discovery-wakes.ts'
import type { Encoding } from './encoding-controller.ts'
import type { Discovered, Publisher } from './publish.ts'
import { type Serving, servingOf } from './serving.ts'
import type { SliceSets } from './slice-sets.ts'
import { Upstreams } from './upstreams.ts'

/** Bounds one discovery as a whole; each of its steps has its own timeout. */
const DISCOVERY_LIMIT_MS = 5 * 60_000
/** Network failures within this time after a pod became ready are not reported: endpoints and DNS may lag behind. */
const SETTLING_MS = 10_000
/** Delay of a second discovery after a rollout: a pod of the old revision may have answered the first. */
const CONFIRM_MS = 5_000
/** Servers whose last discovery failed may hang again, so together they get at most this share of the concurrency. */
const FAILING_SHARE = 0.5
const SLOT_WAIT_MS = 1_000

export type DiscoveryOptions = {
  client: Pick<KubeClient, 'get'>
  caches: Caches
  targets: Targets
  slices: SliceSets
  publisher: Publisher
  encoding: Pick<Encoding, 'isDone' | 'forget'>
  countTokens: CountTokens
  /** How many servers are discovered at the same time. */
  concurrency: number
  clock: Clock
  /** Returns 0 to 1, for jitter. */
  random: () => number
  log: Log
  metrics: OperatorMetrics
  /** Absent: nothing is traced. */
  tracer?: Tracer
  connector?: typeof createConnector
  /** As in UpstreamsOptions. */
  guard?: HostGuard
}

export type Discovery = {
  controller: Controller
  /** Closes all connections to servers. */
  close(): Promise<void>
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const queue = new Queue({ clock: options.clock, random: options.random })
  const worker = new DiscoveryWorker(options, queue)
  wakeOnChanges(options, queue, key => worker.rediscover(key))
  return {
    controller: {
      name: 'discovery',
      queue,
      workers: options.concurrency,
      limitMs: DISCOVERY_LIMIT_MS,
      reconcile: (key, signal) => worker.reconcile(key, signal),
    },
    close: () => worker.close(),
  }
}

class DiscoveryWorker {
  readonly #options: DiscoveryOptions
  readonly #queue: Queue
  readonly #memories = new Map<string, Memory>()
  readonly #upstreams: Upstreams
  /** Running discoveries of servers whose last discovery failed. */
  #failing = 0

  constructor(options: DiscoveryOptions, queue: Queue) {
    this.#options = options
    this.#queue = queue
    this.#upstreams = new Upstreams({ ...options, onListChanged: key => this.rediscover(key) })
  }

  /** Call if the server's lists may have changed, or its published lists are gone. */
  rediscover(key: string): void {
    const memory = this.#memories.get(key)
    const target = this.#options.targets.get(key)
    if (!memory || !target) return
    memory.schedule.changed(this.#options.clock.elapsed())
    this.#queue.addAfter(key, dueAt(memory, target) - this.#options.clock.elapsed())
  }

  close(): Promise<void> {
    return this.#upstreams.closeAll()
  }

  async reconcile(key: string, signal: AbortSignal): Promise<{ afterMs: number } | undefined> {
    const target = this.#options.targets.get(key)
    const object = this.#options.caches.servers.get(key)
    if (!target || !object || object.metadata.uid !== target.server.metadata.uid) {
      this.#forget(key)
      return undefined
    }
    const memory = this.#memoryOf(key, object.metadata.uid)
    const serving = servingOf(target, this.#options.caches)
    if (serving !== 'serving') return this.#wait(key, memory, serving)
    const { clock, encoding, publisher } = this.#options
    memory.servingSince ??= clock.elapsed()
    const discovered: Discovered = { key, object, server: target.server }
    const wanted = wantedOf(target, refreshOf(object))
    const isDue = memory.asked !== wanted || clock.elapsed() >= dueAt(memory, target)
    if (isDue && !this.#hasSlot(memory)) return { afterMs: SLOT_WAIT_MS }
    if (isDue) await this.#discover(discovered, target, memory, wanted, signal)
    else {
      const last = publisher.last(object)
      if (last && (!isObservedAt(last, target.server.metadata.generation) || isNowApproved(last, object)))
        await this.#repeat(discovered, last, signal)
    }
    if (encoding.isDone(key) && (await publisher.encoded(discovered, signal)))
      this.#options.log.info({ server: key }, 'vectors published')
    return { afterMs: Math.max(dueAt(memory, target) - clock.elapsed(), 0) }
  }

  #memoryOf(key: string, uid: string | undefined): Memory {
    const known = this.#memories.get(key)
    if (known?.uid === uid && known) return known
    this.#forget(key)
    const memory = createMemory(uid, this.#options.random)
    this.#memories.set(key, memory)
    return memory
  }

  /** Call for a server that was deleted, suspended or rejected: its next discovery starts from scratch. */
  #forget(key: string): void {
    this.#memories.delete(key)
    this.#options.encoding.forget(key)
    this.#upstreams.close(key)
  }

  /** A server without a ready pod is discovered from scratch once it has one; a server in a rollout keeps its connection. */
  #wait(key: string, memory: Memory, serving: Serving): undefined {
    memory.servingSince = undefined
    memory.schedule.forgetFailures()
    if (serving === 'down') {
      memory.asked = memory.revision = undefined
      this.#upstreams.close(key)
    }
  }

  /** Publishes the last result again for a manifest that changed without its connection: other tools may now be selected or approved. */
  async #repeat(
    discovered: Discovered,
    last: NonNullable<ReturnType<Publisher['last']>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { publisher } = this.#options
    const catalog = isDiscovered(last) ? await publisher.catalog(discovered, signal) : undefined
    if (catalog) await publisher.found(discovered, catalog, catalog, signal)
    else await publisher.repeat(discovered, last, signal)
  }

  #hasSlot({ schedule }: Memory): boolean {
    return schedule.failures === 0 || this.#failing < Math.max(1, this.#options.concurrency * FAILING_SHARE)
  }

  async #discover(
    discovered: Discovered,
    target: Target,
    memory: Memory,
    wanted: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, metrics, tracer } = this.#options
    const span = tracer?.begin(discoverySpan(discovered.key))
    const started = clock.elapsed()
    const isUpdate = memory.revision !== undefined && memory.revision !== target.revision
    const failing = memory.schedule.failures > 0 ? 1 : 0
    memory.schedule.began()
    this.#failing += failing
    let isNew = false
    const onNew = () => {
      isNew = true
    }
    const failure = await this.#readLists(discovered, target, signal, onNew)
      .catch(error => {
        memory.schedule.interrupted()
        span?.end('interrupted')
        throw error
      })
      .finally(() => {
        this.#failing -= failing
      })
    Object.assign(memory, { asked: wanted, revision: target.revision })
    const durationMs = clock.elapsed() - started
    span?.end(failure?.fault.code)
    metrics.discovered({
      server: discovered.key,
      ok: failure === undefined,
      durationMs,
      intervalMs: discoveryIntervalMs(target.server),
    })
    if (failure) return this.#failed(discovered, target, memory, failure, signal)
    memory.schedule.succeeded(clock.elapsed(), isNew, isUpdate ? CONFIRM_MS : undefined)
  }

  /** Returns a failure of the server. Throws all other errors: those of the API server, and bugs. */
  async #readLists(
    discovered: Discovered,
    target: Target,
    signal: AbortSignal,
    onNew: () => void,
  ): Promise<{ fault: Fault; connected: boolean } | undefined> {
    const { clock, countTokens, publisher } = this.#options
    const { key } = discovered
    let info: UpstreamInfo | undefined
    let isComplete = false
    let isPublishing = false
    try {
      const previous = await publisher.catalog(discovered, signal)
      const upstream = await this.#upstreams.open(key, target, signal)
      info = await upstream.connect(signal)
      const discoverOptions = { server: target.server.metadata.name, clock, countTokens, previous }
      for await (const catalog of discover(upstream, discoverOptions, signal)) {
        isPublishing = true
        if (await publisher.found(discovered, catalog, previous, signal)) {
          onNew()
          this.#logTools(key, catalog)
        }
        isPublishing = false
      }
      isComplete = true
      return undefined
    } catch (error) {
      const isOfOperator =
        (error instanceof ApiError && !isDenied(error)) ||
        (isPublishing && error instanceof Fault && error.retryable)
      if (isOfOperator || !(error instanceof Fault) || signal.aborted) throw error
      return { fault: error, connected: info !== undefined }
    } finally {
      this.#upstreams.release(key, isComplete ? info : undefined)
    }
  }

  #logTools(server: string, { tools, invalid, digest }: ServerCatalog): void {
    this.#options.log.info(
      { server, tools: tools.length, invalid: invalid.length, digest },
      'tools discovered',
    )
  }

  async #failed(
    discovered: Discovered,
    target: Target,
    memory: Memory,
    { fault, connected }: { fault: Fault; connected: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { caches, clock, log, publisher } = this.#options
    // If the server was put to sleep while its lists were read, this is not its failure.
    if (servingOf(target, caches) === 'down') return memory.schedule.interrupted()
    const isFirst = memory.schedule.failures === 0
    memory.schedule.failed(clock.elapsed(), retriesOf(target, fault))
    const isSettling = clock.elapsed() - (memory.servingSince ?? Number.NEGATIVE_INFINITY) < SETTLING_MS
    if (isFirst) {
      const { key } = discovered
      log.warn({ server: key, code: fault.code, detail: harmless(messageOf(fault), []) }, 'discovery failed')
    }
    if (isSettling && target.revision !== undefined && isNetwork(fault)) return
    await publisher.failed(discovered, fault, connected, signal)
  }
}

function dueAt({ schedule }: Memory, { server }: Target): number {
  return schedule.dueAt(discoveryIntervalMs(server))
}

function retriesOf({ revision }: Target, { code }: Fault): Parameters<Schedule['failed']>[1] {
  if (code === 'upstream_auth_required') return 'refused'
  return revision === undefined ? 'remote' : 'pods'
}

function isNetwork({ code }: Fault): boolean {
  return code === 'upstream_unreachable' || code === 'upstream_died'
}
