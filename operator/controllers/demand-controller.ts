/** The demand controller: asks the routers of each gateway what uses its servers, what their calls wait for, and which logins of users to write. */
import type { V1Pod } from '@kubernetes/client-node'
import { selects } from '../../core/catalog/select.ts'
import { type Kube, keyOf } from '../../core/kube/object.ts'
import type { McpServer } from '../../crds/server.ts'
import type { OperatorContext } from '../operator.ts'
import { isScaled } from '../plan/scaling.ts'
import type { Manifest } from '../runtime/caches.ts'
import type { Controller } from '../runtime/controller.ts'
import { Queue } from '../runtime/queue.ts'
import type { Demand } from './demand.ts'
import type { KeptLogins } from './kept-logins.ts'
import type { Manifests } from './parsed-manifests.ts'
import { RouterEvents } from './router-events.ts'
import { readRouterLoad } from './router-report.ts'

const WORKERS = 4
/** Carries everything: streams only hasten it. */
const POLL_MS = 2_000
/** Events within this time lead to one look. */
const JOIN_MS = 5

export type DemandControllerOptions = Pick<OperatorContext, 'caches' | 'clock' | 'random'> & {
  manifests: Manifests
  demand: Demand
  logins: KeptLogins
}

export type DemandController = { controller: Controller; close(): void }

export function createDemandController(options: DemandControllerOptions): DemandController {
  const { caches, manifests, demand, logins, clock, random } = options
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
    if (!gateway || !hasToAsk(options, gateway)) {
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
    demand.set(key, counted, clock.now())
    const records = reports.flatMap(report => report?.logins ?? [])
    if (records.length > 0) await logins.write(namespace, records, signal)
    return { afterMs: POLL_MS }
  }
  return {
    controller: { name: 'demand', queue, workers: WORKERS, reconcile },
    close: () => events.close(),
  }

  function hasToAsk({ manifests: parsed }: DemandControllerOptions, gateway: Manifest): boolean {
    const selector = manifests.gateway(gateway).manifest?.spec.servers.selector
    if (!selector) return false
    return caches.servers.objects.values().some(object => {
      const isMeant =
        object.metadata.namespace === gateway.metadata.namespace && selects(selector, object.metadata.labels)
      const server: McpServer | undefined = isMeant ? parsed.server(object).manifest : undefined
      return server !== undefined && (isScaled(server) || server.spec.auth?.perUser?.oauth !== undefined)
    })
  }
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
