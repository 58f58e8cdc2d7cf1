/** The demand controller: asks the routers of each gateway what uses its servers, what their calls wait for, and which logins of users to write. */
import type { V1Pod } from '@kubernetes/client-node'
import { selects } from '../../core/catalog/select.ts'
import { type Kube, keyOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import { isAtRest, isScaled } from '../plan/scaling.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import type { Demand } from './demand.ts'
import type { KeptLogins } from './kept-logins.ts'
import type { Manifests } from './parsed-manifests.ts'
import { RouterEvents } from './router-events.ts'
import { type RouterLoad, readRouterLoad } from './router-report.ts'

const WORKERS = 4
/** Carries everything: streams only hasten it. */
const POLL_MS = 2_000
/** While only calls that wait can change anything, and the streams of all routers would tell of these. */
const REST_POLL_MS = 30_000
/** Events within this time lead to one look. */
export const JOIN_MS = 5

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
  caches.gateways.onChange((before, now) => {
    const object = now ?? before
    if (object) queue.add(keyOf(object))
  })
  caches.servers.onChange((before, now) => {
    for (const key of gatewaysOf(options, now ?? before)) queue.add(key)
  })
  caches.onOwnedChange(({ kind, namespace, name }) => {
    if (kind === 'McpGateway') queue.add(`${namespace}/${name}`)
  })
  const reconcile: Controller['reconcile'] = async (key, signal) => {
    const gateway = caches.gateways.get(key)
    const servers = gateway ? serversToAskFor(options, gateway) : []
    if (!gateway || servers.length === 0) {
      events.follow(key, [], () => {})
      demand.set(key, undefined, clock.now())
      return undefined
    }
    const { namespace = '', name } = gateway.metadata
    const pods = caches.podsOf(namespace, 'router', name).filter(isRunning)
    const addresses = pods.map(({ status }) => status?.podIP ?? '')
    events.follow(key, addresses, () => queue.addAfter(key, JOIN_MS))
    const reports = await Promise.all(addresses.map(address => readRouterLoad(address, clock, signal)))
    signal.throwIfAborted()
    // One that ends may not answer any more; its calls are answered before the pods of their servers end.
    const counted = reports.filter((report, at) => report || !pods[at]?.metadata.deletionTimestamp)
    const isQuiet =
      servers.every(isAtRest) &&
      events.hears(key, addresses) &&
      counted.every(report => report && isIdle(report))
    const afterMs = isQuiet ? REST_POLL_MS : POLL_MS
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

/** Those of a gateway whose instances or logins depend on what its routers say. */
function serversToAskFor({ caches, manifests }: DemandControllerOptions, gateway: Manifest): McpServer[] {
  const selector = manifests.gateway(gateway).manifest?.spec.servers.selector
  if (!selector) return []
  return [...caches.servers.objects.values()].flatMap(object => {
    const isMeant =
      object.metadata.namespace === gateway.metadata.namespace && selects(selector, object.metadata.labels)
    const server = isMeant ? manifests.server(object).manifest : undefined
    return server && (isScaled(server) || server.spec.auth?.perUser?.oauth !== undefined) ? [server] : []
  })
}

/** Nothing waits, and no login is to be written. */
function isIdle({ waiting, logins }: RouterLoad): boolean {
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
    const isMeant = gateway.metadata.namespace === namespace && selector && selects(selector, labels)
    return isMeant ? [key] : []
  })
}

function isRunning({ status }: Kube<V1Pod>): boolean {
  return status?.phase === 'Running' && Boolean(status.podIP)
}
