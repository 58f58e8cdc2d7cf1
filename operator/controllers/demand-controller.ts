/** The demand controller: reads from the routers of each gateway how its servers are used, what calls wait for, and which logins to store. */
import type { V1Pod } from '@kubernetes/client-node'
import { inTurns } from '../../core/async.ts'
import { selects } from '../../core/catalog/select.ts'
import { type Kube, keyOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import { isAtRest, isScaled } from '../plan/scaling.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import { isWithoutRouters, routerPods } from '../runtime/router-pods.ts'
import type { Demand } from './demand.ts'
import type { KeptLogins } from './kept-logins.ts'
import type { Manifests } from './parsed-manifests.ts'
import { RouterEvents } from './router-events.ts'
import { READS_AT_ONCE, type RouterLoad, readRouterLoad } from './router-report.ts'
import { SilentRouters } from './silent-routers.ts'

/** They mostly wait for answers of routers. */
const WORKERS = 16
/** How often routers are asked. This alone would be enough; event streams only make reactions faster. */
const POLL_MS = 2_000
/** How often routers are asked while only a waiting call could change anything, and the streams of all routers are open to report one. */
const IDLE_POLL_MS = 30_000
/** Events within this time cause one poll. */
const JOIN_MS = 5
/** Minimum time between two polls of a gateway, however many events its routers send. */
export const MIN_GAP_MS = 100

export type DemandControllerOptions = Pick<OperatorContext, 'caches' | 'clock' | 'random'> & {
  manifests: Manifests
  demand: Demand
  logins: KeptLogins
}

export type DemandController = { controller: Controller; close(): void }

export function createDemandController(options: DemandControllerOptions): DemandController {
  const { caches, demand, logins, clock, random } = options
  const queue = new Queue({ clock, random })
  const events = new RouterEvents({ clock, random })
  const silent = new SilentRouters({ clock, random })
  const polledAt = new Map<string, number>()
  const requeue = (key: string) => {
    const gapMs = (polledAt.get(key) ?? Number.NEGATIVE_INFINITY) + MIN_GAP_MS - clock.elapsed()
    queue.addAfter(key, Math.max(JOIN_MS, gapMs))
  }
  caches.gateways.onChange((before, now) => {
    const object = now ?? before
    if (object) requeue(keyOf(object))
  })
  caches.servers.onChange((before, now) => {
    for (const key of gatewaysOf(options, now ?? before)) requeue(key)
  })
  caches.onOwnedChange(({ kind, namespace, name }) => {
    if (kind === 'McpGateway') requeue(`${namespace}/${name}`)
  })
  const reconcile: Controller['reconcile'] = async (key, signal) => {
    const gateway = caches.gateways.get(key)
    const servers = gateway ? reportedServers(options, gateway) : []
    if (!gateway || servers.length === 0) {
      polledAt.delete(key)
      events.follow(key, [], () => {})
      demand.set(key, undefined, clock.now())
      return undefined
    }
    polledAt.set(key, clock.elapsed())
    const { namespace = '', name } = gateway.metadata
    const pods = routerPods(caches, { namespace, name }).filter(isRunning)
    const addresses = pods.map(({ status }) => status?.podIP ?? '')
    events.follow(key, addresses, address => {
      silent.heard(address)
      requeue(key)
    })
    const reports = await inTurns(addresses, READS_AT_ONCE, address =>
      silent.ask(address, () => readRouterLoad(address, clock, signal)),
    )
    signal.throwIfAborted()
    // A terminating router that no longer answers is left out. Its calls are safe: pods of servers answer calls in flight before they end.
    const counted = reports.filter((report, at) => report || !pods[at]?.metadata.deletionTimestamp)
    const isUnused = counted.length === 0 && isWithoutRouters(caches, gateway)
    if (isUnused) counted.push(reportOfNone(servers, clock.now()))
    const isAsleep = servers.every(isAtRest) && events.isFollowing(key, addresses)
    const isIdle = isUnused || (isAsleep && counted.every(report => report && hasNothingToDo(report)))
    const afterMs = isIdle ? IDLE_POLL_MS : POLL_MS
    demand.set(key, counted, clock.now(), afterMs)
    const records = reports.flatMap(report => report?.logins ?? [])
    if (records.length > 0) await logins.write(namespace, records, signal)
    return { afterMs }
  }
  return {
    controller: { name: 'demand', queue, workers: WORKERS, reconcile },
    close: () => events.close(),
  }
}

/** The servers of a gateway whose instances or logins depend on its routers' reports. */
function reportedServers({ caches, manifests }: DemandControllerOptions, gateway: Manifest): McpServer[] {
  const selector = manifests.gateway(gateway).manifest?.spec.servers.selector
  if (!selector) return []
  return [...caches.servers.objects.values()].flatMap(object => {
    const isSelected =
      object.metadata.namespace === gateway.metadata.namespace && selects(selector, object.metadata.labels)
    const server = isSelected ? manifests.server(object).manifest : undefined
    return server && (isScaled(server) || server.spec.auth?.perUser?.oauth !== undefined) ? [server] : []
  })
}

/** What a gateway without routers counts as: nothing has ever used its servers through it. Sidecars call them through routers, which report that. */
function reportOfNone(servers: readonly McpServer[], idleMs: number): RouterLoad {
  const none = { active: 0, waiting: 0, asking: 0, held: 0, subscriptions: 0, sessions: 0, instances: {} }
  return {
    servers: servers.map(({ metadata: { name } }) => ({ name, ...none, idleMs })),
    waiting: [],
    logins: [],
  }
}

/** Whether no call waits, and no login is to be stored. */
function hasNothingToDo({ waiting, logins }: RouterLoad): boolean {
  return waiting.length === 0 && logins.length === 0
}

/** The gateways that select a server, as `namespace/name`. */
export function gatewaysOf(
  { caches, manifests }: Pick<DemandControllerOptions, 'caches' | 'manifests'>,
  server: Manifest | undefined,
): string[] {
  if (!server) return []
  const { namespace, labels } = server.metadata
  return [...caches.gateways.objects].flatMap(([key, gateway]) => {
    const selector = manifests.gateway(gateway).manifest?.spec.servers.selector
    const isSelected = gateway.metadata.namespace === namespace && selector && selects(selector, labels)
    return isSelected ? [key] : []
  })
}

function isRunning({ status }: Kube<V1Pod>): boolean {
  return status?.phase === 'Running' && Boolean(status.podIP)
}
