/** The console's view of the operator's caches: all gateways and servers, the routers of a gateway, manifests. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { ConsoleClusterEvents } from '../../core/console/shapes.ts'
import { shownManifest } from '../../core/console/shown-manifest.ts'
import type { Kube } from '../../core/kube/object.ts'
import { isPodReady } from '../../core/kube/pod.ts'
import type { McpServer } from '../../crds/server.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { gatewayObjectName } from '../plan/names.ts'
import type { Caches } from '../runtime/caches.ts'
import { controllerOf } from '../runtime/owner-reference.ts'
import { gatewayLine, serverLine } from './cluster-lines.ts'

export type ClusterView = {
  /** Grows with every change of a gateway or server. */
  version(): number
  /** `withServers`: includes the list of servers, which only the page about all gateways shows. */
  state(withServers: boolean): ConsoleClusterEvents['cluster']
  hasGateway(gateway: GatewayPlace): boolean
  /** Its ready routers, sorted by name; at most 16. */
  routers(gateway: GatewayPlace): Router[]
  /** The manifest of a server as YAML; undefined if there is no such server. */
  manifest(namespace: string, server: string): string | undefined
  close(): void
}

export type GatewayPlace = { namespace: string; name: string }
export type Router = { pod: string; address: string }

/** Limit of gateways and of servers that are sent. Those that are not ready come first. */
const MAX_LINES = 5_000
/** How many routers of a gateway a page shows. */
const MAX_ROUTERS = 16
/** The label with which the Deployment controller tells the pods of its ReplicaSets apart. It also ends the names of these. */
const TEMPLATE_HASH = 'pod-template-hash'

type ViewCaches = Pick<Caches, 'gateways' | 'servers' | 'deployments' | 'podsOf'>

export function createClusterView(caches: ViewCaches): ClusterView {
  let version = 0
  const changed = () => void version++
  const stops = [caches.gateways.onChange(changed), caches.servers.onChange(changed)]
  return {
    version: () => version,
    state: withServers => ({
      version: packageJson.version,
      gateways: firstOf([...caches.gateways.objects.values()].map(gatewayLine)),
      servers: withServers ? firstOf([...caches.servers.objects.values()].map(serverLine)) : [],
    }),
    hasGateway: ({ namespace, name }) => caches.gateways.get(`${namespace}/${name}`) !== undefined,
    routers: gateway =>
      routerPods(caches, gateway)
        .filter(isReady)
        .map(({ metadata, status }) => ({ pod: metadata.name, address: status?.podIP ?? '' }))
        .sort((a, b) => (a.pod < b.pod ? -1 : 1))
        .slice(0, MAX_ROUTERS),
    manifest(namespace, server) {
      const found = caches.servers.get(`${namespace}/${server}`)
      return found && shownManifest(found as unknown as McpServer)
    },
    close() {
      for (const stop of stops) stop()
    },
  }
}

/** At most MAX_LINES of them: those that are not ready first, then sorted by namespace and name. */
function firstOf<T extends { ready: boolean; namespace: string; name: string }>(lines: T[]): T[] {
  const key = ({ namespace, name }: T) => `${namespace}/${name}`
  return lines
    .sort((a, b) => Number(a.ready) - Number(b.ready) || (key(a) < key(b) ? -1 : 1))
    .slice(0, MAX_LINES)
}

/** Labels are not trusted, since anybody who creates pods may write them: routers receive the operator's token and people's credentials. */
function routerPods(caches: ViewCaches, { namespace, name }: GatewayPlace): Kube<V1Pod>[] {
  const gateway = caches.gateways.get(`${namespace}/${name}`)
  const deployment = caches.deployments.get(`${namespace}/${gatewayObjectName(name)}`)
  if (!gateway || !deployment || controllerOf(deployment)?.uid !== gateway.metadata.uid) return []
  return caches.podsOf(namespace, 'router', name).filter(pod => isPodOf(deployment, pod))
}

/**
 * Whether a ReplicaSet of the Deployment controls the pod. ReplicaSets are not cached, so theirs is known by its name, and its uid is not
 * compared: garbage collection deletes a pod whose reference has another uid than the object of that name.
 */
function isPodOf({ metadata }: Kube<V1Deployment>, pod: Kube<V1Pod>): boolean {
  const { kind, name } = controllerOf(pod) ?? {}
  const hash = pod.metadata.labels?.[TEMPLATE_HASH]
  return kind === 'ReplicaSet' && Boolean(hash) && name === `${metadata.name}-${hash}`
}

function isReady(pod: Kube<V1Pod>): boolean {
  return !pod.metadata.deletionTimestamp && Boolean(pod.status?.podIP) && isPodReady(pod)
}
