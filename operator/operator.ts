/** The operator: caches run in every replica, controllers only in the replica that holds the lease. */
import { randomUUID } from 'node:crypto'
import { type Clock, delay } from '../core/async.ts'
import type { ConsolePage } from '../core/console/page.ts'
import type { SentenceEncoder } from '../core/encoder/encoder.ts'
import type { KubeClient } from '../core/kube/client.ts'
import { leadWhileHolding } from '../core/kube/lease.ts'
import type { Log } from '../core/log.ts'
import type { ProxyFor } from '../core/proxies.ts'
import type { Tracer } from '../core/trace.ts'
import { openConsole } from './console/open-console.ts'
import type { OperatorSettings } from './plan/settings.ts'
import type { Namespaces } from './runtime/cache.ts'
import { type Caches, createCaches } from './runtime/caches.ts'
import { type Controller, runController } from './runtime/controller.ts'
import { createEventRecorder, type EventRecorder } from './runtime/events.ts'
import { inListedNamespaces } from './runtime/first-lists.ts'
import { serveHealth } from './runtime/health-server.ts'
import { createOperatorMetrics, type OperatorMetrics } from './runtime/operator-metrics.ts'

/** Loads the encoder; undefined, after logging why, if there is none. Throws Fault `io`. */
export type OpenEncoder = () => Promise<SentenceEncoder | undefined>

export const LEASE_NAME = 'portolan-operator'
const CLOSE_LIMIT_MS = 5_000

/** What controllers are built from. */
export type OperatorContext = {
  client: KubeClient
  caches: Caches
  settings: OperatorSettings
  /** Addresses of the API server. Absent: they are not known, and servers may have them. */
  apiServer?: readonly string[]
  /** Which HTTP proxies lead to remote servers. Absent: none. */
  proxyFor?: ProxyFor
  discoveryConcurrency: number
  openEncoder: OpenEncoder
  events: EventRecorder
  metrics: OperatorMetrics
  log: Log
  clock: Clock
  random: () => number
  /** Absent: nothing is traced. */
  tracer?: Tracer
}

/**
 * Controllers, whose listeners are registered before the caches run, so that every existing object reaches them as a change. Their
 * queues fill on standby too; nothing is reconciled before this replica leads.
 */
export type ControllerSet = {
  controllers: readonly Controller[]
  /** Closes connections and workers; called once, after the controllers stopped. */
  close(): Promise<void>
}

export type OperatorOptions = {
  client: KubeClient
  /** A separate client whose requests time out after LEASE_REQUEST_TIMEOUT_MS. */
  leaseClient: KubeClient
  createControllers: (context: OperatorContext) => ControllerSet
  settings: OperatorSettings
  apiServer?: readonly string[]
  proxyFor?: ProxyFor
  namespaces: Namespaces
  pod: string
  resyncMs: number
  discoveryConcurrency: number
  openEncoder: OpenEncoder
  /** Port of the health server; 0 for any free port. */
  port: number
  /** Absent: no console is served. */
  console?: { port: number; tokenFile: string; page: ConsolePage }
  log: Log
  clock: Clock
  random?: () => number
  tracer?: Tracer
}

export type Operator = {
  /** Port of the health server. */
  port: number
  /** Port of the console, if there is one. */
  consolePort?: number
  metrics: OperatorMetrics
  /** Resolves after `stop`; rejects if the operator can no longer work and the process should exit, for example when its lease is lost. */
  ended: Promise<void>
  /** Finishes running reconciles, releases the lease and closes everything except the clients. Never rejects. */
  stop(): Promise<void>
}

/** Starts watching, and reconciling once it holds the lease. Throws Fault `unavailable` if a port is taken. */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { log, port } = options
  const metrics = createOperatorMetrics(options.clock)
  const caches = createCaches(options)
  metrics.watchObjects(caches)
  const controllerSet = options.createControllers(contextOf(options, caches, metrics))
  const stopping = new AbortController()
  const obstacle = () => {
    if (stopping.signal.aborted) return 'stopping'
    return caches.unsynced.length > 0 ? `not listed yet: ${caches.unsynced.join(', ')}` : undefined
  }
  const health = await serveHealth({ port, obstacle, metrics, log })
  const page = await openConsole(options, caches)
  const watching = new AbortController()
  const watched = caches.run(watching.signal)
  const ended = runControllers(options, caches, controllerSet, metrics, stopping.signal).finally(async () => {
    stopping.abort()
    watching.abort()
    await inTime(Promise.all([controllerSet.close(), watched, health.close(), page?.close()]), options.clock)
  })
  ended.catch(() => {}) // no unhandled rejection if the caller never awaits it
  return {
    port: health.port,
    consolePort: page?.port,
    metrics,
    ended,
    async stop() {
      stopping.abort()
      await ended.catch(() => {})
    },
  }
}

/** Waits for `work`, but at most CLOSE_LIMIT_MS, so that the process exits in any case. */
async function inTime(work: Promise<unknown>, clock: Clock): Promise<void> {
  const done = new AbortController()
  const limit = delay(clock, CLOSE_LIMIT_MS, done.signal).catch(() => {})
  await Promise.race([work.finally(() => done.abort()), limit])
}

/** Runs the controllers while this replica leads. It must not lead before its caches are synced, since it may be unable to list objects. */
async function runControllers(
  { leaseClient, settings, pod, log, clock, random, tracer }: OperatorOptions,
  caches: Caches,
  { controllers }: ControllerSet,
  metrics: OperatorMetrics,
  signal: AbortSignal,
): Promise<void> {
  try {
    await caches.synced(signal)
  } catch {
    return // stopped before the caches were synced
  }
  log.info({ servers: caches.servers.objects.size, gateways: caches.gateways.objects.size }, 'caches synced')
  const lead = async (leading: AbortSignal) => {
    metrics.leading(true)
    const context = { log, metrics, clock, tracer }
    const guarded = controllers.map(one => inListedNamespaces(one, caches))
    await Promise.all(guarded.map(one => runController(one, context, leading)))
    metrics.leading(false)
  }
  const identity = `${pod}_${randomUUID()}`
  const lease = { client: leaseClient, namespace: settings.namespace, name: LEASE_NAME, identity }
  await leadWhileHolding({ ...lease, log, clock, random }, lead, signal)
}

function contextOf(options: OperatorOptions, caches: Caches, metrics: OperatorMetrics): OperatorContext {
  const { client, pod, log, clock, random = Math.random } = options
  const events = createEventRecorder({ client, instance: pod, log, clock })
  return { ...options, caches, events, metrics, random }
}
